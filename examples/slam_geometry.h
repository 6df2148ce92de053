/* SPDX-License-Identifier: Apache-2.0 */
/* What the SLAM example needs besides the library: poses, triangulation, a room to render, and the path as a picture.
 * Nothing of this is part of keybits. */
#ifndef EXAMPLE_SLAM_GEOMETRY_H
#define EXAMPLE_SLAM_GEOMETRY_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "picture.h"

/* A point p of the world is seen at r p + t. */
typedef struct pose {
    double r[9], t[3];
} pose;

static inline pose pose_identity(void) { return (pose){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}; }

static inline pose pose_of(const kb_fit_report *report)
{
    pose p;
    memcpy(p.r, report->rotation, sizeof p.r);
    memcpy(p.t, report->translation, sizeof p.t);
    return p;
}

static inline void pose_apply(const pose *p, const double from[3], double to[3])
{
    for (int i = 0; i < 3; i++)
        to[i] = p->r[3 * i] * from[0] + p->r[3 * i + 1] * from[1] + p->r[3 * i + 2] * from[2] + p->t[i];
}

/* First b, then a. */
static inline pose pose_compose(const pose *a, const pose *b)
{
    pose c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.r[3 * i + j] = a->r[3 * i] * b->r[j] + a->r[3 * i + 1] * b->r[3 + j] + a->r[3 * i + 2] * b->r[6 + j];
    pose_apply(a, b->t, c.t);
    return c;
}

static inline pose pose_inverse(const pose *p)
{
    pose q = {{p->r[0], p->r[3], p->r[6], p->r[1], p->r[4], p->r[7], p->r[2], p->r[5], p->r[8]}, {0, 0, 0}};
    double t[3];
    pose_apply(&q, p->t, t);
    for (int i = 0; i < 3; i++) q.t[i] = -t[i];
    return q;
}

static inline double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double median_of(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    return numbers[n / 2];
}

/* The middle between two rays where they are nearest, and the angle between them in degrees; 0 when the point would be
 * behind a camera. */
static inline double triangulate(const pose *a, const double ray_a[3], const pose *b, const double ray_b[3],
                                 double place[3])
{
    pose from_a = pose_inverse(a), from_b = pose_inverse(b);
    double u[3], v[3], w[3];
    pose_apply(&from_a, ray_a, u);
    pose_apply(&from_b, ray_b, v);
    for (int i = 0; i < 3; i++) {
        u[i] -= from_a.t[i];
        v[i] -= from_b.t[i];
        w[i] = from_b.t[i] - from_a.t[i];
    }
    double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), wu = dot(w, u), wv = dot(w, v), d = uu * vv - uv * uv;
    if (d < 1e-12) return 0;
    double s = (wu * vv - wv * uv) / d, t = (wu * uv - wv * uu) / d;
    for (int i = 0; i < 3; i++) place[i] = 0.5 * (from_a.t[i] + s * u[i] + from_b.t[i] + t * v[i]);
    double cosine = uv / sqrt(uu * vv);
    return s > 0 && t > 0 ? acos(cosine < 1 ? cosine : 1) * 57.29577951308232 : 0;
}

/* The bytes of a file; stops the program when it cannot be read. */
static inline uint8_t *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint8_t *bytes = length > 0 ? malloc((size_t)length) : NULL;
    if (!bytes || fseek(file, 0, SEEK_SET) != 0 || fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

/* ---- the room: walls and boards with pictures on them, and a closed path that looks at them ---- */

enum { ROOM_FRAMES = 90, ROOM_WIDTH = 480, ROOM_HEIGHT = 360, ROOM_BOARDS = 10 };

/* A rectangle in the world: a corner, two sides at right angles and a picture of `texels` per unit of length. */
typedef struct board {
    double corner[3], right[3], down[3];
    picture image;
} board;

static inline void room_camera(kb_camera *c)
{
    c->fx = c->fy = 420;
    c->cx = (ROOM_WIDTH - 1) / 2.0;
    c->cy = (ROOM_HEIGHT - 1) / 2.0;
}

static inline const board *room_boards(void)
{
    static board boards[ROOM_BOARDS] = {
        {{-9, -6, 9}, {18, 0, 0}, {0, 12, 0}, {0, 0, NULL}}, /* the back wall */
        {{-6, -4, 1}, {0, 0, 8}, {0, 8, 0}, {0, 0, NULL}},   {{6, -4, 9}, {0, 0, -8}, {0, 8, 0}, {0, 0, NULL}},
        {{-6, 3, 9}, {12, 0, 0}, {0, 0, -7}, {0, 0, NULL}},  {{-6, -3.5, 2}, {12, 0, 0}, {0, 0, 7}, {0, 0, NULL}},
        {{-3, -1, 6}, {1.5, 0, 0.3}, {0, 2, 0}, {0, 0, NULL}}, {{1, 0, 5}, {1.4, 0, -0.3}, {0, 1.6, 0}, {0, 0, NULL}},
        {{-1, -2, 7}, {2, 0, 0}, {0, 1.2, 0}, {0, 0, NULL}}, {{2.6, -1.8, 6.5}, {1.2, 0, 0.4}, {0, 2, 0}, {0, 0, NULL}},
        {{-1.2, 0.8, 5.5}, {1.2, 0, 0}, {0, 1, 0}, {0, 0, NULL}}};
    for (unsigned i = 0; i < ROOM_BOARDS && !boards[ROOM_BOARDS - 1].image.pixels; i++) {
        double width = sqrt(dot(boards[i].right, boards[i].right)), height = sqrt(dot(boards[i].down, boards[i].down));
        boards[i].image = picture_render((int)(60 * width), (int)(60 * height), 7 + i);
    }
    return boards;
}

static inline double board_gray(const board *b, double u, double v)
{
    double x = u * (b->image.width - 2), y = v * (b->image.height - 2);
    const uint8_t *p = b->image.pixels + (int)y * b->image.width + (int)x;
    double fx = x - (int)x, fy = y - (int)y;
    return (1 - fy) * (p[0] * (1 - fx) + p[1] * fx) +
           fy * (p[b->image.width] * (1 - fx) + p[b->image.width + 1] * fx);
}

/* What a ray from `eye` meets first. */
static inline uint8_t room_ray(const double eye[3], const double ray[3])
{
    const board *boards = room_boards();
    double nearest = 1e9, gray = 0;
    for (int i = 0; i < ROOM_BOARDS; i++) {
        const board *b = &boards[i];
        const double *e = b->right, *f = b->down;
        double normal[3] = {e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]};
        double to[3] = {b->corner[0] - eye[0], b->corner[1] - eye[1], b->corner[2] - eye[2]};
        double along = dot(ray, normal), depth = fabs(along) > 1e-9 ? dot(to, normal) / along : -1;
        if (!(depth > 0.1 && depth < nearest)) continue;
        double place[3] = {ray[0] * depth - to[0], ray[1] * depth - to[1], ray[2] * depth - to[2]};
        double u = dot(place, e) / dot(e, e), v = dot(place, f) / dot(f, f);
        if (!(u >= 0 && v >= 0 && u < 1 && v < 1)) continue;
        nearest = depth;
        gray = board_gray(b, u, v);
    }
    return (uint8_t)(gray + 0.5);
}

/* A round through the room that comes back to where it began; the first pose is the identity. */
static inline pose room_pose(int index)
{
    double t = 6.283185307179586 * index / (ROOM_FRAMES - 6), yaw = 0.12 * sin(t), c = cos(yaw), s = sin(yaw);
    pose p = {{c, 0, -s, 0, 1, 0, s, 0, c}, {0, 0, 0}};
    double centre[3] = {1.5 * sin(t), 0.4 * sin(2 * t), 1.0 - cos(t)}, moved[3];
    pose_apply(&p, centre, moved);
    for (int i = 0; i < 3; i++) p.t[i] = -moved[i];
    return p;
}

/* What the camera sees that is `right` of the one whose pose is given back. */
static inline picture room_render(int index, double right, pose *truth)
{
    picture p = {ROOM_WIDTH, ROOM_HEIGHT, malloc(ROOM_WIDTH * ROOM_HEIGHT)};
    kb_camera camera;
    if (!p.pixels) exit(1);
    room_camera(&camera);
    *truth = room_pose(index);
    pose camera_pose = *truth;
    camera_pose.t[0] -= right;
    pose back = pose_inverse(&camera_pose);
    for (int y = 0; y < ROOM_HEIGHT; y++) {
        for (int x = 0; x < ROOM_WIDTH; x++) {
            double seen[3] = {(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy, 1}, ray[3];
            pose_apply(&back, seen, ray);
            for (int i = 0; i < 3; i++) ray[i] -= back.t[i];
            p.pixels[y * ROOM_WIDTH + x] = room_ray(back.t, ray);
        }
    }
    return p;
}

static inline void room_keep(const picture *p, const char *folder, int index)
{
    char path[4096];
    FILE *file = snprintf(path, sizeof path, "%s/%03d.pgm", folder, index) < (int)sizeof path ? fopen(path, "wb") : NULL;
    size_t size = (size_t)p->width * (size_t)p->height;
    if (file && fprintf(file, "P5 %d %d 255\n", p->width, p->height) > 0 && fwrite(p->pixels, 1, size, file) == size &&
        fclose(file) == 0)
        return;
    fprintf(stderr, "%s: cannot be written\n", path);
    exit(1);
}

/* ---- the path ---- */

/* One camera does not know the scale of the world: the factor that brings the path nearest to the truth. */
static inline double path_scale(const pose *path, const uint8_t *known, const pose *truth, int frames)
{
    double with = 0, own = 0;
    for (int i = 0; truth && i < frames; i++) {
        pose a = pose_inverse(&path[i]), b = pose_inverse(&truth[i]);
        if (known[i]) with += dot(a.t, b.t), own += dot(a.t, a.t);
    }
    return own > 0 && with > 0 ? with / own : 1;
}

static inline void path_report(const pose *path, const uint8_t *known, const pose *truth, int frames, bool metric)
{
    double scale = metric ? 1 : path_scale(path, known, truth, frames), sum = 0, length = 0;
    int n = 0;
    for (int i = 0; i < frames; i++) n += known[i];
    printf("poses of %d of %d frames\n", n, frames);
    for (int i = 0; truth && i < frames; i++) {
        pose a = pose_inverse(&path[i]), b = pose_inverse(&truth[i]);
        double off[3] = {scale * a.t[0] - b.t[0], scale * a.t[1] - b.t[1], scale * a.t[2] - b.t[2]};
        if (known[i]) sum += dot(off, off);
        if (i == 0) continue;
        pose c = pose_inverse(&truth[i - 1]);
        double step[3] = {b.t[0] - c.t[0], b.t[1] - c.t[1], b.t[2] - c.t[2]};
        length += sqrt(dot(step, step));
    }
    if (truth && n) printf("error of the path: %.2f %% of its length\n", 100 * sqrt(sum / n) / length);
}

/* Where the SVG shows the world, from above: x to the right, z upwards, in the middle of a square. */
enum { DRAW_SIDE = 480, DRAW_MARGIN = 40 };
typedef struct drawing {
    FILE *file;
    double scale;              /* of the path, to the truth's */
    double middle[2], factor; /* px per unit */
} drawing;

static inline void draw_place(const drawing *d, const pose *p, double scale, double at[2])
{
    pose c = pose_inverse(p);
    at[0] = DRAW_SIDE / 2.0 + (scale * c.t[0] - d->middle[0]) * d->factor;
    at[1] = DRAW_SIDE / 2.0 - (scale * c.t[2] - d->middle[1]) * d->factor;
}

static inline void draw_frame_path(const drawing *d, const pose *path, const uint8_t *known, int frames, double scale,
                                   const char *style)
{
    fprintf(d->file, "<polyline fill=\"none\" stroke-linejoin=\"round\" %s points=\"", style);
    for (int i = 0; i < frames; i++) {
        double at[2];
        draw_place(d, &path[i], scale, at);
        if (!known || known[i]) fprintf(d->file, "%.1f,%.1f ", at[0], at[1]);
    }
    fprintf(d->file, "\"/>\n");
}

static inline void draw_fit(drawing *d, const pose *path, const uint8_t *known, int frames)
{
    double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
    for (int i = 0; i < frames; i++) {
        pose c = pose_inverse(&path[i]);
        for (int k = 0; k < 2 && known[i]; k++) {
            low[k] = fmin(low[k], d->scale * c.t[2 * k]);
            high[k] = fmax(high[k], d->scale * c.t[2 * k]);
        }
    }
    for (int k = 0; k < 2; k++) d->middle[k] = (low[k] + high[k]) / 2;
    d->factor = (DRAW_SIDE - 2 * DRAW_MARGIN) / fmax(fmax(high[0] - low[0], high[1] - low[1]), 1e-9);
}

#define DRAW_PATH "stroke=\"#0a58ca\" stroke-width=\"2.5\""
#define DRAW_TRUTH "stroke=\"#999\" stroke-width=\"6\" stroke-opacity=\"0.5\""
#define DRAW_LOOP "stroke=\"#d9480f\" stroke-width=\"1\" stroke-opacity=\"0.6\""

/* A line of each kind beside its name, and a bar whose length in units is a power of ten. */
static inline void draw_legend(const drawing *d, bool truth, bool loops)
{
    const struct { const char *name, *style; bool there; } kinds[] = {
        {"path", DRAW_PATH, true}, {"truth", DRAW_TRUTH, truth}, {"loop", DRAW_LOOP, loops}};
    int x = DRAW_MARGIN;
    for (int i = 0; i < 3; i++) {
        if (!kinds[i].there) continue;
        fprintf(d->file, "<path %s d=\"M%d 20h24\"/><text x=\"%d\" y=\"24\">%s</text>\n", kinds[i].style, x, x + 30,
                kinds[i].name);
        x += 84;
    }
    fprintf(d->file, "<circle cx=\"%d\" cy=\"20\" r=\"5\" fill=\"#0a58ca\"/><text x=\"%d\" y=\"24\">start</text>\n",
            x + 5, x + 16);
    double unit = pow(10, floor(log10(200 / d->factor)));
    fprintf(d->file, "<path stroke=\"#333\" d=\"M%d %dv6h%.1fv-6\" fill=\"none\"/><text x=\"%d\" y=\"%d\">%g</text>\n",
            DRAW_MARGIN, DRAW_SIDE - 24, unit * d->factor, DRAW_MARGIN + 4, DRAW_SIDE - 24, unit);
}

/* The path from above as an SVG, over the truth where it is known, with a line for every loop (`loops` pairs of
 * frames). */
static inline void path_draw(const char *name, const pose *path, const uint8_t *known, const pose *truth, int frames,
                             const int (*pairs)[2], int loops)
{
    drawing d = {fopen(name, "w"), path_scale(path, known, truth, frames), {0, 0}, 1};
    double at[2], to[2];
    int first = 0;
    if (!d.file) {
        fprintf(stderr, "%s: cannot be written\n", name);
        exit(1);
    }
    draw_fit(&d, path, known, frames);
    fprintf(d.file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"13\">\n<title>The path of the camera from above</title>\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"white\"/>\n", DRAW_SIDE, DRAW_SIDE, DRAW_SIDE);
    if (truth) draw_frame_path(&d, truth, NULL, frames, 1, DRAW_TRUTH);
    for (int i = 0; i < loops; i++) {
        draw_place(&d, &path[pairs[i][0]], d.scale, at);
        draw_place(&d, &path[pairs[i][1]], d.scale, to);
        fprintf(d.file, "<path " DRAW_LOOP " d=\"M%.1f %.1fL%.1f %.1f\"/>\n", at[0], at[1], to[0], to[1]);
    }
    draw_frame_path(&d, path, known, frames, d.scale, DRAW_PATH);
    while (first + 1 < frames && !known[first]) first++;
    draw_place(&d, &path[first], d.scale, at);
    fprintf(d.file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"#0a58ca\"/>\n", at[0], at[1]);
    draw_legend(&d, truth != NULL, loops > 0);
    fprintf(d.file, "</svg>\n");
    if (fclose(d.file) == 0) return;
    fprintf(stderr, "%s: cannot be written\n", name);
    exit(1);
}

#endif
