/* SPDX-License-Identifier: Apache-2.0 */
/* keybits track: finds a planar template in every frame, and tells what that cost. */
#include <math.h>
#include <string.h>

#include "cli/groups.h"
#include "io/energy.h"
#include "io/json.h"
#include "io/number.h"
#include "io/progress.h"
#include "pipeline/pose.h"
#include "track.h"

typedef struct totals {
    int64_t frames, found, unreadable;
    double ms[4]; /* detect, describe, match, fit */
    double ms_all;
    energy_cost cost;
} totals;

typedef struct track_job {
    cli_common *common;
    cli_pipeline pipeline;
    const char *output;
    int32_t min_places;
    track_camera camera;
    track_pictures pictures;
    io_read_options reading;
    int32_t fps;
    char rate[32];
    const char *template_name;
    io_image image; /* of the template */
    features features;
    track_frames frames;
    io_writer *writer; /* of the rows; NULL: nobody wants them */
    io_progress progress;
    totals sum;
} track_job;

/* -------------------------------------------------------------------------------------------------------- one frame */

bool track_plausible(const double h[9], int32_t width, int32_t height, double corners[4][2])
{
    const double smallest = 8, largest = 1e5; /* px, of a side */
    double w = width - 1, hgt = height - 1;
    const double at[4][2] = {{0, 0}, {w, 0}, {w, hgt}, {0, hgt}};
    for (int i = 0; i < 4; i++) {
        if (!(h[6] * at[i][0] + h[7] * at[i][1] + h[8] > 0))
            return false; /* model[8] is 1: the first corner is in front */
        kb_homography_apply(h, at[i][0], at[i][1], &corners[i][0], &corners[i][1]);
    }
    for (int i = 0; i < 4; i++) {
        const double *a = corners[i], *b = corners[(i + 1) % 4], *c = corners[(i + 2) % 4];
        double side = hypot(b[0] - a[0], b[1] - a[1]);
        double turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
        if (!(turn > 0) || !(side >= smallest) || !(side <= largest)) return false;
    }
    return true;
}

static const io_grid as_it_is = {.step_x = 1, .step_y = 1};

/* The pixels in which a frame was read, and those of its file. Streams are not shrunk. */
static const io_grid *frame_grid(const track_job *job)
{
    return job->frames.streaming ? &as_it_is : &job->frames.image.file;
}

/* The template is in pixels of its file from here on. */
static void take_match(track_job *job, pipeline_result *matched, track_result *result)
{
    const io_grid files[2] = {job->image.file, as_it_is}, *template = &files[0];
    if (job->reading.max_size) pipeline_result_to_file(matched, files);
    result->ms += matched->ms_match + matched->ms_fit;
    job->sum.ms[2] += matched->ms_match;
    job->sum.ms[3] += matched->ms_fit;
    result->matches = matched->count;
    result->inliers = matched->fit.inliers;
    result->found = matched->fit.result == KB_FIT_FOUND && matched->fit.places >= job->min_places &&
                    track_plausible(matched->fit.model, template->width, template->height, result->corners);
}

static bool find_pose(const track_job *job, const pipeline *p, const pipeline_result *matched, track_result *result,
                      io_error *error)
{
    track_camera camera = job->camera;
    if (job->reading.max_size) camera.camera = pose_camera_shrunk(&camera.camera, frame_grid(job));
    return track_pose(&camera, p, matched, job->image.file.width, job->image.file.height, result, error);
}

/* With the threshold in pixels of the frame as it was read. */
static pipeline pipeline_of_frame(const track_job *job)
{
    pipeline p = job->pipeline.pipeline;
    if (job->reading.max_size) p.options.threshold /= (frame_grid(job)->step_x + frame_grid(job)->step_y) / 2;
    return p;
}

/* Where the template's features, which are computed once, do not find it, it is looked at again from its pixels on. */
static bool find_template(track_job *job, const kb_image *view, track_result *result, io_error *error)
{
    const pipeline shrunk = pipeline_of_frame(job), *p = &shrunk;
    const kb_image *const both[2] = {&job->image.view, view};
    features seen = {0}, again[2] = {{0}, {0}};
    pipeline_times times;
    pipeline_result matched = {0};
    bool ok = pipeline_describe(p, job->frames.name, view, false, &seen, &times, error) &&
              pipeline_match(p, &job->features, &seen, &matched, error);
    if (ok) {
        result->ms = times.detect + times.describe;
        job->sum.ms[0] += times.detect;
        job->sum.ms[1] += times.describe;
        take_match(job, &matched, result);
    }
    if (ok && !result->found) {
        pipeline_result_free(&matched);
        ok = pipeline_match_images(p, both, again, &matched, error);
        if (ok) take_match(job, &matched, result);
    }
    if (ok) {
        double start = io_clock_seconds();
        ok = find_pose(job, p, &matched, result, error);
        double ms_pose = 1000 * (io_clock_seconds() - start);
        result->ms += ms_pose, job->sum.ms[3] += ms_pose;
    }
    pipeline_result_free(&matched);
    features_free(&seen);
    for (int i = 0; i < 2; i++) features_free(&again[i]);
    return ok;
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static void row_csv(FILE *out, int64_t number, const track_result *r, bool pose)
{
    fprintf(out, "%lld,%d,%d,%zu", (long long)number, (int)r->found, (int)r->inliers, r->matches);
    for (int i = 0; i < 8; i++) {
        if (r->found) fprintf(out, ",%.3f", r->corners[i / 2][i % 2]);
        else fputc(',', out);
    }
    fprintf(out, ",%.3f", r->ms);
    for (int i = 0; pose && i < 6; i++) {
        if (r->posed) fprintf(out, ",%.9g", i < 3 ? r->turn[i] : r->place[i - 3]);
        else fputc(',', out);
    }
    fputc('\n', out);
}

/* One object a line, which the shared writer does not do; there is no string in it that needs escaping. */
static void pose_json(FILE *out, const track_result *r)
{
    const double *t = r->turn, *p = r->place;
    if (r->posed)
        fprintf(out, ", \"rotation\": [%.9g, %.9g, %.9g], \"translation\": [%.9g, %.9g, %.9g]", t[0], t[1], t[2], p[0],
                p[1], p[2]);
    else fputs(", \"rotation\": null, \"translation\": null", out);
}

static void row_json(FILE *out, int64_t number, const track_result *r, bool pose)
{
    fprintf(out, "{\"frame\": %lld, \"found\": %s, \"inliers\": %d, \"matches\": %zu, \"corners\": ", (long long)number,
            r->found ? "true" : "false", (int)r->inliers, r->matches);
    for (int i = 0; r->found && i < 4; i++) {
        fprintf(out, "%s[%.3f, %.3f]", i ? ", " : "[", r->corners[i][0], r->corners[i][1]);
    }
    fprintf(out, "%s, \"ms\": %.3f", r->found ? "]" : "null", r->ms);
    if (pose) pose_json(out, r);
    fputs("}\n", out);
}

static bool put_row(const track_job *job, int64_t number, const track_result *result, io_error *error)
{
    if (!job->writer) return true;
    FILE *out = io_writer_file(job->writer);
    bool pose = job->camera.camera.struct_size != 0;
    if (!job->common->json && number == 0)
        fprintf(out, "frame,found,inliers,matches,x1,y1,x2,y2,x3,y3,x4,y4,ms%s\n", pose ? ",rx,ry,rz,tx,ty,tz" : "");
    if (job->common->json) row_json(out, number, result, pose);
    else row_csv(out, number, result, pose);
    fflush(out); /* who watches a stream does not want to wait */
    return io_writer_check(job->writer, error);
}

/* ---------------------------------------------------------------------------------------------------------- summary */

static void summary_words(const track_job *job)
{
    const totals *t = &job->sum;
    double n = t->frames > 0 ? (double)t->frames : 1;
    cli_say(job->common, "frames %lld: template found in %lld, lost in %lld, not readable %lld", (long long)t->frames,
            (long long)t->found, (long long)(t->frames - t->found - t->unreadable), (long long)t->unreadable);
    cli_say(job->common, "ms per frame: detect %.2f, describe %.2f, match %.2f, fit %.2f, together %.2f", t->ms[0] / n,
            t->ms[1] / n, t->ms[2] / n, t->ms[3] / n, t->ms_all / n);
    cli_say(job->common, "%.1f frames per second with reading and writing; processor time %.2f ms per frame",
            t->cost.wall > 0 ? n / t->cost.wall : 0, 1000 * t->cost.cpu / n);
    if (t->cost.joules >= 0) {
        cli_say(job->common, "energy: %.3f J per frame, %.2f W (%s, whole machine)", t->cost.joules / n,
                t->cost.wall > 0 ? t->cost.joules / t->cost.wall : 0, t->cost.source);
    } else {
        cli_say(job->common, "energy: %s", t->cost.source);
    }
}

static void summary_json(FILE *out, const totals *t)
{
    double n = t->frames > 0 ? (double)t->frames : 1;
    fprintf(out, "{\"summary\": {\"frames\": %lld, \"found\": %lld, \"unreadable\": %lld, \"fps\": %.3f, ",
            (long long)t->frames, (long long)t->found, (long long)t->unreadable,
            t->cost.wall > 0 ? n / t->cost.wall : 0);
    fprintf(out, "\"ms\": {\"detect\": %.4f, \"describe\": %.4f, \"match\": %.4f, \"fit\": %.4f, \"total\": %.4f}, ",
            t->ms[0] / n, t->ms[1] / n, t->ms[2] / n, t->ms[3] / n, t->ms_all / n);
    fprintf(out, "\"cpu_ms\": %.4f, \"joules\": ", 1000 * t->cost.cpu / n);
    if (t->cost.joules >= 0) fprintf(out, "%.6f, ", t->cost.joules / n);
    else fprintf(out, "null, ");
    fprintf(out, "\"energy\": \"%s\"}}\n", t->cost.source);
}

/* ------------------------------------------------------------------------------------------------------- the frames */

static bool open_template(track_job *job, io_error *error)
{
    if (!io_image_read(job->template_name, &job->reading, &job->image, error)) return false;
    if (!pipeline_describe(&job->pipeline.pipeline, job->template_name, &job->image.view, false, &job->features, NULL,
                           error))
        return false;
    features_fit fit = features_measure(&job->features, job->pipeline.model, job->pipeline.pipeline.options.scale);
    cli_warn_patches(job->common, job->template_name, &fit);
    if (job->features.keypoints.count >= 4) return true;
    return io_fail(error, "%s: %zu keypoints in the template; at least 4 are needed: it is too small or too plain",
                   job->template_name, job->features.keypoints.count);
}

static bool open_output(track_job *job, io_error *error)
{
    if (!track_pictures_claim(&job->pictures, job->frames.names.count, error)) return false;
    bool video_out = job->pictures.video && strcmp(job->pictures.video, "-") == 0;
    if (job->pictures.folder && !io_folder_make(job->pictures.folder, error)) return false;
    if (!job->output && video_out) return true;
    job->writer = io_writer_open(job->output, error);
    return job->writer != NULL;
}

static bool track_all(track_job *job, io_error *error)
{
    for (;;) {
        track_result result = {0};
        kb_image view;
        track_status status = track_frames_next(&job->frames, &view, error);
        if (status == TRACK_END) return true;
        int64_t number = job->sum.frames++;
        if (status == TRACK_UNREADABLE && job->frames.names.count == 1) return false; /* there is nothing else */
        if (status == TRACK_UNREADABLE) {
            job->sum.unreadable++;
            io_progress_wipe(&job->progress);
            cli_warn(job->common, "%s", error->text);
        } else if (!find_template(job, &view, &result, error) ||
                   !track_pictures_add(&job->pictures, &job->frames, number, &result, error)) {
            return false;
        }
        for (int i = 0; result.found && i < 4; i++)
            io_grid_to_file(frame_grid(job), &result.corners[i][0], &result.corners[i][1]);
        job->sum.found += result.found;
        job->sum.ms_all += result.ms;
        if (!put_row(job, number, &result, error)) return false;
        io_progress_update(&job->progress, (size_t)job->sum.frames);
    }
}

static bool track_finish(track_job *job, io_error *error)
{
    if (job->sum.frames == 0)
        return io_fail(error, "%s: no frames", job->frames.name ? job->frames.name : "the stream");
    if (job->sum.unreadable == job->sum.frames) {
        io_error last = *error;
        return io_fail(error, "no frame could be read; the last: %.300s", last.text);
    }
    if (job->pictures.skipped) {
        cli_warn(job->common, "%lld frames are not in the video, since they have another size than the first",
                 (long long)job->pictures.skipped);
    }
    if (job->common->json && job->writer) summary_json(io_writer_file(job->writer), &job->sum);
    summary_words(job);
    io_writer *writer = job->writer;
    job->writer = NULL;
    if (track_pictures_end(&job->pictures, error)) return !writer || io_writer_commit(writer, error);
    if (writer) io_writer_abandon(writer);
    return false;
}

static bool track_frames_all(track_job *job, int count, char *const *arguments, io_error *error)
{
    energy_meter meter;
    if (!open_template(job, error) ||
        !track_frames_open(job->common, &job->frames, &job->reading, job->pictures.folder || job->pictures.video, count,
                           arguments, error) ||
        !open_output(job, error)) {
        return false;
    }
    job->pictures.rate = job->frames.streaming ? job->frames.stream.rate : job->rate;
    bool rows_shown = job->writer && !io_writer_temporary(job->writer); /* then a bar would run through them */
    io_progress_start(&job->progress, "track", job->frames.names.count, job->common->quiet || rows_shown);
    energy_start(&meter);
    bool ok = track_all(job, error);
    energy_stop(&meter, &job->sum.cost);
    io_progress_end(&job->progress);
    return ok && track_finish(job, error);
}

static int track_run(cli_common *common, void *context, int count, char **arguments)
{
    track_job *job = context;
    io_error error = {""};
    job->common = job->pictures.common = common;
    job->template_name = arguments[0];
    if (job->camera.width > 0 && !job->camera.camera.struct_size)
        return cli_usage_error(common, "--template-width needs --camera");
    snprintf(job->rate, sizeof job->rate, "%d:1", (int)job->fps);
    if (!cli_pipeline_open(common, &job->pipeline, &error) ||
        !track_frames_all(job, count - 1, arguments + 1, &error))
        return cli_error("%s", error.text);
    return CLI_DONE;
}

static void track_begin(void *context) { cli_pipeline_begin(&((track_job *)context)->pipeline); }

static void track_end(void *context)
{
    track_job *job = context;
    if (job->writer) io_writer_abandon(job->writer);
    y4m_abandon(&job->pictures.writer);
    track_frames_close(&job->frames);
    io_image_free(&job->image);
    features_free(&job->features);
    cli_pipeline_close(&job->pipeline);
}

static const cli_option track_options[] = {
    {"output", 'o', CLI_OUTPUT(track_job, output), "FILE",
     .help = "the rows; - for standard output (default), unless that is the video's"},
    {"min-places", 0, CLI_NUMBER(track_job, min_places, 4, 1000000), "N", "10",
     .help = ": fewer different inliers mean lost"},
    {"camera", 0, CLI_CALL(track_job, camera.camera), "C", .take = cli_take_camera,
     .help = "fx,fy,cx,cy[,k1,k2,p1,p2,k3] of the frames in px, distortion as OpenCV has it: also gives the pose of "
             "the template, and draws a cube on it"},
    {"template-width", 0, CLI_NUMBER(track_job, camera.width, 1e-6, 1e6), "M",
     .help = "metres, the width of the template: the pose is in metres (default: in pixels of the template)"},
    {"draw", 0, CLI_TEXT(track_job, pictures.folder), "DIR",
     .help = "frames with the outline as DIR/frame_000000.png and so on; DIR is made when it is missing"},
    {"y4m", 0, CLI_OUTPUT(track_job, pictures.video), "FILE|-",
     .help = "frames with the outline as a Y4M stream (| ffplay - shows it)"},
    {"fps", 0, CLI_NUMBER(track_job, fps, 1, 1000), "N", "25",
     .help = "frames per second of that stream, when FRAMES are images"},
    CLI_SECTION("Images"),
    CLI_GROUP(track_job, reading, any_photo_options),
    CLI_GROUP(track_job, pipeline, pipeline_option_groups),
    {0}};

const cli_command command_track = {
    .name = "track",
    .examples = "poster.jpg frames --draw found # every frame of a folder\n"
                "poster.jpg video.y4m --json # a video",
    .summary = "find a flat template in every frame of a folder or a video",
    .usage = "TEMPLATE FRAMES [options]",
    .about = "Finds a flat template in every frame. FRAMES is a folder of images, images, @list.txt, a "
             "file clip.y4m, or - for a Y4M stream on standard input:\n"
             "    ffmpeg -i clip.mp4 -f yuv4mpegpipe - | keybits track poster.jpg -\n"
             "Every frame is processed independently: the template may be lost and found again. One row per frame goes "
             "to standard output:\n"
             "    frame,found,inliers,matches,x1,y1,x2,y2,x3,y3,x4,y4,ms\n"
             "with the corners of the template in the frame, clockwise from its top left, empty when it is lost; with "
             "--json one object per line. --max-size shrinks the template and images, not the frames of a stream. With --camera six columns follow: rx,ry,rz, the rotation vector in radians, "
             "and tx,ty,tz. A point of the template, from its centre with x to the right, y down and z away from the "
             "viewer, is rotated and shifted by these into the camera's coordinates. At the end: frames per second, "
             "processor time and energy (powercap or battery) per frame.",
    .options = track_options,
    .least = 2,
    .most = CLI_ANY,
    .wants = "name a template and frames (a folder, images, or - for Y4M)",
    .reads_arguments = true,
    .job_size = sizeof(track_job),
    .begin = track_begin,
    .run = track_run,
    .end = track_end};
