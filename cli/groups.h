/* Tables of options that several commands include (CLI_GROUP), and what they fill. */
#ifndef CLI_GROUPS_H
#define CLI_GROUPS_H

#include "cli.h"
#include "io/image_io.h"

/* --detector, -n, --select and the thresholds of the detectors; the job is kb_detect_options. `detector` stays 0 unless
 * it is given. */
extern const cli_option detector_options[];
/* --exif and --white; the job is io_read_options. */
extern const cli_option reading_options[];

/* KB_INIT, and 16-bit images as they are: what the two tables begin with. */
void detector_begin(kb_detect_options *detect);
void reading_begin(io_read_options *reading);

#endif
