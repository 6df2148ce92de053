/* SPDX-License-Identifier: Apache-2.0 */
/* The front end of a visual SLAM system with one calibrated camera: a map of points is started by an essential matrix,
 * followed by guided matching and camera poses, and extended by triangulation; loops are found by visual words. There is
 * no bundle adjustment, so the path drifts as odometry does.
 *
 *     slam_frontend [-o path.svg] [-v vocabulary.kbv] [-m model] [-c fx,fy,cx,cy frame1.pgm frame2.pgm ... |
 *                   -w folder | -s baseline]
 *
 * Without frames it renders a room and a path through it (-w keeps the frames), and tells how far off its own is; with
 * -s, a second camera that far to the right gives depths and the scale. The model is a built-in one of 256 bits, or orb
 * for OpenCV's ORB, keypoints and rows, where the example was built with OpenCV. */
#include <keybits/advanced.h>
#include <keybits/index.h>

#include "slam_geometry.h"

#ifdef SLAM_HAVE_ORB
size_t slam_orb(int width, int height, uint8_t *pixels, kb_keypoint *keypoints, uint8_t *rows,
                size_t most); /* slam_orb.cpp */
#endif

enum { MOST = 1000, BYTES = 32, MOST_POINTS = 60000, MOST_FRAMES = 5000, KEY_STEP = 4, LEAST_INLIERS = 25 };

typedef struct frame {
    kb_keypoint keypoints[MOST];
    uint8_t rows[MOST * BYTES];
    int32_t point_of[MOST]; /* the map point that a keypoint shows; -1: none */
    double depth[MOST];     /* by stereo; 0: not known */
    size_t n;
    pose at;
} frame;

typedef struct map_point {
    double place[3];
    uint8_t row[BYTES]; /* as it was seen last */
    float angle;
    int32_t level, visible, found;
} map_point;

typedef struct slam {
    kb_model *model;    /* NULL: ORB */
    double baseline;    /* of a stereo camera; 0: one camera */
    kb_model_info info; /* with the distances that suit the model */
    kb_workspace *workspace;
    kb_camera camera;
    int width, height;
    map_point *points; /* `count` of them */
    frame now, key;
    pose before, path[MOST_FRAMES];
    uint8_t known[MOST_FRAMES];
    uint8_t *key_rows; /* of all keyframes, for the vocabulary and the loops */
    kb_keypoint *key_points;
    size_t key_ends[MOST_FRAMES], key_count;
    int key_frame[MOST_FRAMES];
    int loops[MOST_FRAMES][2], loop_count; /* pairs of frames */
    int32_t count;
    bool started;
} slam;

/* ---- frames ---- */

static kb_features rows_view(uint8_t *rows, size_t n)
{
    kb_features f;
    KB_INIT(f);
    f.rows = rows;
    f.row_bytes = BYTES;
    f.n = n;
    return f;
}

/* To read, and to fill. */
static kb_features features_of(kb_keypoint *keypoints, uint8_t *rows, size_t n)
{
    kb_features f = rows_view(rows, n);
    f.rows_size = MOST * BYTES;
    f.keypoints = keypoints;
    f.capacity = MOST;
    return f;
}

static kb_features frame_view(frame *now) { return features_of(now->keypoints, now->rows, now->n); }

static size_t describe(slam *s, const picture *p, kb_keypoint *keypoints, uint8_t *rows)
{
    kb_image image = picture_view(p);
    kb_detect_options options;
#ifdef SLAM_HAVE_ORB
    if (!s->model) return slam_orb(p->width, p->height, p->pixels, keypoints, rows, MOST);
#endif
    KB_INIT(options);
    options.max_keypoints = MOST;
    options.selection = KB_SELECTION_QUADTREE;
    kb_features f = features_of(keypoints, rows, 0);
    check(kb_detect_and_describe(s->model, &image, &options, NULL, s->workspace, &f, NULL), "kb_detect_and_describe");
    return f.n;
}

/* Depths of keypoints from the other camera of a stereo pair. */
static void frame_depths(slam *s, const picture *left, const picture *right)
{
    static kb_keypoint keypoints[MOST];
    static uint8_t rows[MOST * BYTES];
    static kb_stereo_match matches[MOST];
    kb_stereo_options options;
    kb_image images[2] = {picture_view(left), picture_view(right)};
    size_t n = describe(s, right, keypoints, rows), count;
    KB_INIT(options);
    options.min_disparity = 2;
    options.max_distance = (float)s->info.threshold_high;
    options.left = &images[0];
    options.right = &images[1];
    kb_features now = frame_view(&s->now), other = features_of(keypoints, rows, n);
    check(kb_match_stereo(&now, &other, &options, s->workspace, matches, &count, NULL), "kb_match_stereo");
    for (size_t m = 0; m < count; m++)
        s->now.depth[matches[m].a] = s->camera.fx * s->baseline / (double)matches[m].disparity;
}

static void frame_describe(slam *s, const picture *p, const picture *right)
{
    s->now.n = describe(s, p, s->now.keypoints, s->now.rows);
    for (size_t i = 0; i < s->now.n; i++) s->now.point_of[i] = -1, s->now.depth[i] = 0;
    if (right) frame_depths(s, p, right);
}

static void key_keep(slam *s, int index)
{
    size_t first = s->key_count ? s->key_ends[s->key_count - 1] : 0;
    s->key = s->now;
    s->key_rows = realloc(s->key_rows, (first + s->now.n) * BYTES + 1);
    s->key_points = realloc(s->key_points, (first + s->now.n + 1) * sizeof *s->key_points);
    if (!s->key_rows || !s->key_points) exit(1);
    memcpy(s->key_rows + first * BYTES, s->now.rows, s->now.n * BYTES);
    memcpy(s->key_points + first, s->now.keypoints, s->now.n * sizeof *s->key_points);
    s->key_frame[s->key_count] = index;
    s->key_ends[s->key_count++] = first + s->now.n;
}

/* ---- the map ---- */

static void pixel_ray(const slam *s, const kb_keypoint *k, double ray[3])
{
    ray[2] = 1;
    check(kb_camera_unproject(&s->camera, (double)k->x, (double)k->y, &ray[0], &ray[1]), "kb_camera_unproject");
}

static bool point_pixel(const slam *s, const pose *at, const double place[3], double *x, double *y)
{
    double seen[3];
    pose_apply(at, place, seen);
    return seen[2] > 0.05 && kb_camera_project(&s->camera, seen[0] / seen[2], seen[1] / seen[2], x, y) == KB_OK &&
           *x >= 0 && *y >= 0 && *x < s->width && *y < s->height;
}

static bool point_fits(const slam *s, const pose *at, const double place[3], const kb_keypoint *k)
{
    double x, y, scale = (double)k->size / 31;
    return point_pixel(s, at, place, &x, &y) && hypot(x - (double)k->x, y - (double)k->y) < 2 * scale;
}

static void point_look(map_point *p, const frame *f, size_t j)
{
    memcpy(p->row, f->rows + j * BYTES, BYTES);
    p->angle = f->keypoints[j].angle;
    p->level = f->keypoints[j].octave;
}

/* Keypoints i of the last keyframe and j of this frame become a point of the map, if they are seen from directions that
 * differ enough and fit. */
static bool point_add(slam *s, size_t i, size_t j, double least_angle)
{
    double ray1[3], ray2[3];
    if (s->count == MOST_POINTS) return false;
    map_point *p = &s->points[s->count];
    pixel_ray(s, &s->key.keypoints[i], ray1);
    pixel_ray(s, &s->now.keypoints[j], ray2);
    double angle = triangulate(&s->key.at, ray1, &s->now.at, ray2, p->place);
    if (angle < least_angle || !point_fits(s, &s->key.at, p->place, &s->key.keypoints[i]) ||
        !point_fits(s, &s->now.at, p->place, &s->now.keypoints[j]))
        return false;
    point_look(p, &s->now, j);
    p->visible = p->found = 1;
    s->now.point_of[j] = s->key.point_of[i] = s->count++;
    return true;
}

/* Matches the keyframe's keypoints that show no map point with this frame; where they are expected is told by the depth
 * of those that do. */
static size_t match_unknown(slam *s, float radius, double depth, kb_match *matches)
{
    static kb_guide guides[MOST];
    kb_guided_options options;
    size_t count;
    pose to_world = pose_inverse(&s->key.at);
    for (size_t i = 0; i < s->key.n; i++) {
        const kb_keypoint *k = &s->key.keypoints[i];
        double ray[3], place[3], x = -1e6, y = -1e6;
        pixel_ray(s, k, ray);
        for (int c = 0; c < 3; c++) ray[c] *= depth;
        pose_apply(&to_world, ray, place);
        if (s->key.point_of[i] < 0) point_pixel(s, &s->now.at, place, &x, &y);
        guides[i] = (kb_guide){(float)x, (float)y, radius, k->angle, k->octave - 1, k->octave + 1, 0, 0};
    }
    KB_INIT(options);
    options.max_ratio = 0.8f;
    options.max_distance = (float)s->info.threshold_low;
    kb_features key = frame_view(&s->key), now = frame_view(&s->now);
    check(kb_match_guided(&key, guides, &now, &options, s->workspace, matches, &count, NULL), "kb_match_guided");
    return count;
}

static double median_depth(const slam *s)
{
    static double depths[MOST];
    size_t n = 0;
    for (size_t i = 0; i < s->now.n; i++) {
        double seen[3];
        if (s->now.point_of[i] < 0) continue;
        pose_apply(&s->now.at, s->points[s->now.point_of[i]].place, seen);
        depths[n++] = seen[2];
    }
    return n ? median_of(depths, n) : 1;
}

static void map_extend(slam *s)
{
    static kb_match matches[MOST];
    size_t count = match_unknown(s, 40, median_depth(s), matches);
    for (size_t m = 0; m < count; m++)
        if (s->now.point_of[matches[m].b] < 0) point_add(s, (size_t)matches[m].a, (size_t)matches[m].b, 1.5);
}

/* Keypoints with a depth that show no map point become one. */
static void map_extend_by_stereo(slam *s)
{
    pose to_world = pose_inverse(&s->now.at);
    for (size_t j = 0; j < s->now.n && s->count < MOST_POINTS; j++) {
        double ray[3];
        map_point *p = &s->points[s->count];
        if (s->now.point_of[j] >= 0 || !(s->now.depth[j] > 0)) continue;
        pixel_ray(s, &s->now.keypoints[j], ray);
        for (int c = 0; c < 3; c++) ray[c] *= s->now.depth[j];
        pose_apply(&to_world, ray, p->place);
        point_look(p, &s->now, j);
        p->visible = p->found = 1;
        s->now.point_of[j] = s->count++;
    }
}

/* The first frame of a stereo camera. */
static void map_start_by_stereo(slam *s, int index)
{
    s->count = 0;
    s->now.at = pose_identity();
    map_extend_by_stereo(s);
    s->started = s->count >= 80;
    s->known[index] = (uint8_t)s->started;
    s->before = s->path[index] = s->now.at;
    if (s->started) printf("frame %d: map of %d points\n", index, (int)s->count);
    if (s->started) key_keep(s, index);
}

/* Two frames and the essential matrix between them. */
static void map_start(slam *s, int index)
{
    static kb_match matches[MOST];
    static kb_point_pair pairs[MOST];
    static float quality[MOST];
    static uint8_t inliers[MOST];
    kb_fit_options options;
    kb_fit_report report;
    s->now.at = pose_identity();
    size_t count = index ? match_unknown(s, 80, 1, matches) : 0;
    kb_features key = frame_view(&s->key), now = frame_view(&s->now);
    check(kb_match_points(&key, &now, matches, count, pairs, quality, NULL), "kb_match_points");
    KB_INIT(options); KB_INIT(report);
    options.geometry = KB_GEOMETRY_ESSENTIAL;
    options.threshold = 1;
    options.quality = quality;
    options.camera1 = &s->camera;
    check(kb_fit(pairs, count, &options, s->workspace, inliers, &report, NULL), "kb_fit");
    if (report.result != KB_FIT_FOUND || report.inliers < 80) { /* nothing in common: begin with this frame */
        s->key_count = 0;
        key_keep(s, index);
        return;
    }
    s->now.at = pose_of(&report);
    for (size_t m = 0; m < count; m++)
        if (inliers[m]) point_add(s, (size_t)matches[m].a, (size_t)matches[m].b, 2.5);
    s->started = s->count >= 120;
    if (!s->started) { /* too little parallax: wait for a frame from further away */
        s->count = 0;
        for (size_t i = 0; i < s->key.n; i++) s->key.point_of[i] = -1;
        return;
    }
    s->known[s->key_frame[0]] = s->known[index] = 1;
    s->path[s->key_frame[0]] = s->key.at;
    s->before = s->path[index] = s->now.at;
    printf("frame %d: map of %d points\n", index, (int)s->count);
    key_keep(s, index);
}

/* The map points that the expected pose sees: their guides and rows. Points that are seldom found are left out. */
static size_t points_in_view(slam *s, float radius, kb_guide *guides, uint8_t *rows, int32_t *index)
{
    size_t n = 0;
    for (int32_t i = 0; i < s->count && n < MOST_POINTS; i++) {
        map_point *p = &s->points[i];
        double x, y;
        if ((p->visible > 8 && 4 * p->found < p->visible) || !point_pixel(s, &s->now.at, p->place, &x, &y)) continue;
        p->visible++;
        guides[n] = (kb_guide){(float)x, (float)y, radius, p->angle, p->level - 1, p->level + 1, 0, 0};
        memcpy(rows + n * BYTES, p->row, BYTES);
        index[n++] = i;
    }
    return n;
}

static bool pose_fit(slam *s, const kb_match *matches, size_t count, const int32_t *index)
{
    static kb_scene_point seen[MOST];
    static float quality[MOST];
    static uint8_t inliers[MOST];
    kb_fit_options options;
    kb_fit_report report;
    if (count > MOST) count = MOST;
    for (size_t m = 0; m < count; m++) {
        const double *place = s->points[index[matches[m].a]].place;
        const kb_keypoint *k = &s->now.keypoints[matches[m].b];
        seen[m] = (kb_scene_point){place[0], place[1], place[2], (double)k->x, (double)k->y};
        quality[m] = matches[m].distance;
    }
    KB_INIT(options); KB_INIT(report);
    options.threshold = 3;
    options.quality = quality;
    options.camera1 = &s->camera;
    check(kb_fit_pose(seen, count, &options, s->workspace, inliers, &report, NULL), "kb_fit_pose");
    if (report.result != KB_FIT_FOUND || report.inliers < LEAST_INLIERS) return false;
    s->now.at = pose_of(&report);
    for (size_t m = 0; m < count; m++) {
        map_point *p = &s->points[index[matches[m].a]];
        size_t j = (size_t)matches[m].b;
        if (!inliers[m]) continue;
        p->found++;
        point_look(p, &s->now, j);
        s->now.point_of[j] = index[matches[m].a];
    }
    return true;
}

/* The pose of a frame: guided from where it is expected; in a wider circle; or from nothing, after it was lost. */
static bool frame_track(slam *s, const pose *expected)
{
    static kb_guide guides[MOST_POINTS];
    static uint8_t rows[MOST_POINTS * BYTES];
    static int32_t index[MOST_POINTS];
    static kb_match matches[MOST_POINTS];
    kb_guided_options options;
    kb_match_options anywhere;
    kb_features now = frame_view(&s->now);
    size_t n, count;
    KB_INIT(options); KB_INIT(anywhere);
    options.max_ratio = 0.9f;
    options.max_distance = (float)s->info.threshold_high;
    for (float radius = 15; radius < 100; radius *= 4) {
        s->now.at = *expected;
        n = points_in_view(s, radius, guides, rows, index);
        kb_features known = rows_view(rows, n);
        check(kb_match_guided(&known, guides, &now, &options, s->workspace, matches, &count, NULL), "kb_match_guided");
        if (pose_fit(s, matches, count, index)) return true;
    }
    anywhere.max_distance = (float)s->info.threshold_low;
    for (n = 0; n < (size_t)s->count; n++) {
        memcpy(rows + n * BYTES, s->points[n].row, BYTES);
        index[n] = (int32_t)n;
    }
    kb_features all = rows_view(rows, n);
    check(kb_match_features(&all, &now, &anywhere, s->workspace, matches, &count, NULL), "kb_match_features");
    return pose_fit(s, matches, count, index);
}

static void frame_add(slam *s, const picture *p, const picture *right, int index)
{
    s->width = p->width, s->height = p->height;
    frame_describe(s, p, right);
    if (!s->started) {
        if (right) map_start_by_stereo(s, index);
        else map_start(s, index);
        return;
    }
    const pose *last = &s->path[index - 1];
    pose back = pose_inverse(&s->before), step = pose_compose(last, &back), expected = pose_compose(&step, last);
    s->known[index] = frame_track(s, s->known[index - 1] ? &expected : last);
    s->before = s->known[index - 1] ? *last : s->now.at;
    s->path[index] = s->known[index] ? s->now.at : *last;
    if (!s->known[index]) printf("frame %d: lost\n", index);
    if (!s->known[index] || index - s->key_frame[s->key_count - 1] < KEY_STEP) return;
    if (right) map_extend_by_stereo(s);
    else map_extend(s);
    key_keep(s, index);
}

/* Visual words: of a file, or learned from the frames themselves. */
static kb_vocabulary *vocabulary_open(const slam *s, const char *path, uint8_t **bytes)
{
    kb_vocabulary *vocabulary;
    kb_error error;
    size_t size;
    if (!path) {
        kb_vocabulary_options options;
        KB_INIT(options);
        options.levels = 3;
        options.model = s->model;
        options.image_ends = s->key_ends;
        options.images = s->key_count;
        check(kb_vocabulary_train(s->key_rows, s->key_ends[s->key_count - 1], BYTES, &options, NULL, &vocabulary, NULL),
              "kb_vocabulary_train");
        return vocabulary;
    }
    *bytes = file_read(path, &size);
    if (kb_vocabulary_load(*bytes, size, NULL, &vocabulary, &error) == KB_OK) return vocabulary;
    fprintf(stderr, "%s: %s\n", path, error.text);
    exit(1);
}

static void loops_find(slam *s, const kb_vocabulary *vocabulary)
{
    kb_loop_detector *detector;
    kb_loop_options options;
    KB_INIT(options);
    options.window = 10;
    options.min_places = 40;
    options.geometry = KB_GEOMETRY_FUNDAMENTAL;
    check(kb_loop_detector_create(vocabulary, &options, NULL, &detector, NULL), "kb_loop_detector_create");
    for (size_t k = 0; k < s->key_count; k++) {
        size_t first = k ? s->key_ends[k - 1] : 0;
        kb_features features;
        kb_loop loop;
        KB_INIT(features);
        KB_INIT(loop);
        features.rows = s->key_rows + first * BYTES;
        features.keypoints = s->key_points + first;
        features.n = s->key_ends[k] - first;
        features.row_bytes = BYTES;
        features.model_id = s->info.id;
        check(kb_loop_detector_add(detector, &features, s->workspace, &loop, NULL), "kb_loop_detector_add");
        if (!loop.found) continue;
        int *pair = s->loops[s->loop_count++];
        pair[0] = s->key_frame[k], pair[1] = s->key_frame[loop.reference];
        printf("loop: frame %d shows the place of frame %d, %d inliers\n", pair[0], pair[1], (int)loop.inliers);
    }
    kb_loop_detector_free(detector);
}

/* The model, or ORB with the distances that it is used with. */
static void model_open(slam *s, const char *name)
{
#ifdef SLAM_HAVE_ORB
    if (strcmp(name, "orb") == 0) {
        s->info.threshold_low = 50;
        s->info.threshold_high = 100;
        return;
    }
#endif
    check(kb_model_builtin(name, NULL, &s->model), name);
    check(kb_model_get_info(s->model, &s->info), "kb_model_get_info");
    if (s->info.row_bytes == BYTES) return;
    fprintf(stderr, "%s has not 256 bits\n", name);
    exit(1);
}

typedef struct arguments {
    const char *svg, *vocabulary, *keep, *model, *baseline, *camera;
    int first; /* frame */
} arguments;

static bool arguments_read(arguments *a, kb_camera *camera, int argc, char **argv)
{
    for (a->first = 1; a->first < argc && argv[a->first][0] == '-'; a->first += 2) {
        const char letters[] = "ovwmsc", *letter = strchr(letters, argv[a->first][1]);
        const char **texts[] = {&a->svg, &a->vocabulary, &a->keep, &a->model, &a->baseline, &a->camera};
        if (!letter || !*letter || a->first + 1 == argc) return false;
        *texts[letter - letters] = argv[a->first + 1];
    }
    if (a->camera) /* belongs to frames */
        return a->first < argc && !a->baseline &&
               sscanf(a->camera, "%lf,%lf,%lf,%lf", &camera->fx, &camera->fy, &camera->cx, &camera->cy) == 4;
    return a->first == argc;
}

static void frame_take(slam *s, const arguments *a, char **argv, int index, pose *truth)
{
    pose same;
    picture p = a->camera ? picture_read(argv[a->first + index]) : room_render(index, 0, truth), right = {0, 0, NULL};
    if (!a->camera && a->keep) room_keep(&p, a->keep, index);
    if (s->baseline > 0) right = room_render(index, s->baseline, &same);
    frame_add(s, &p, s->baseline > 0 ? &right : NULL, index);
    free(p.pixels);
    free(right.pixels);
}

int main(int argc, char **argv)
{
    static slam s;
    static pose path[MOST_FRAMES];
    arguments a = {NULL, NULL, NULL, "bag256", NULL, NULL, 0};
    int frames = 0;
    KB_INIT(s.camera); KB_INIT(s.info);
    if (!arguments_read(&a, &s.camera, argc, argv) || (a.baseline && (s.baseline = atof(a.baseline)) <= 0)) {
        fprintf(stderr, "use: slam_frontend [-o path.svg] [-v vocabulary.kbv] [-m model] [-c fx,fy,cx,cy frame1.pgm ...|"
                        " -w folder | -s baseline]\n");
        return 2;
    }
    if (!a.camera) room_camera(&s.camera);
    const pose *truth = a.camera ? NULL : path;
    s.points = calloc(MOST_POINTS, sizeof *s.points);
    if (!s.points) return 1;
    model_open(&s, a.model);
    check(kb_workspace_create(NULL, &s.workspace), "kb_workspace_create");
    uint8_t *bytes = NULL; /* the vocabulary lies in them */
    kb_vocabulary *words = a.vocabulary ? vocabulary_open(&s, a.vocabulary, &bytes) : NULL;
    for (int total = truth ? ROOM_FRAMES : argc - a.first; frames < total && frames < MOST_FRAMES; frames++)
        frame_take(&s, &a, argv, frames, &path[frames]);
    path_report(s.path, s.known, truth, frames, s.baseline > 0);
    if (s.started) loops_find(&s, words = words ? words : vocabulary_open(&s, NULL, &bytes));
    if (a.svg) path_draw(a.svg, s.path, s.known, truth, frames, s.loops, s.loop_count);
    kb_vocabulary_free(words);
    kb_workspace_free(s.workspace);
    kb_model_free(s.model);
    free(s.key_rows), free(s.key_points), free(s.points), free(bytes);
    return s.started ? 0 : 1;
}
