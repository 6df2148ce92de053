/* SPDX-License-Identifier: Apache-2.0 */
/* Loads keybits-peers.so on the first call that needs a peer and passes calls on. Patches are sampled on this side, so
 * that the module needs nothing of the library. */
#include "eval/peers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/peers_module.h"
#include "io/features.h"

#ifndef KB_PEERS_FOLDER
#    define KB_PEERS_FOLDER "../lib/keybits" /* from the folder of the program, once installed */
#endif
#define MODULE_FILE "keybits-peers.so"

static const ev_peers_module *module; /* NULL: not there */
static io_error reason;               /* why not */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool module_open(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return io_fail(&reason, "%s", dlerror());
    ev_peers_entry *entry = NULL;
    void *symbol = dlsym(handle, EV_PEERS_ENTRY);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no conversion between these two kinds of pointers */
    const ev_peers_module *found = entry ? entry() : NULL;
    if (!found || found->abi != EV_PEERS_ABI) {
        dlclose(handle);
        return io_fail(&reason, "%s: belongs to another version of keybits", path);
    }
    module = found;
    return true;
}

/* The folder of the running program with a slash; empty where the system does not tell. */
static void program_folder(char *folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) slash[1] = 0;
}

static void module_load(void)
{
    static const char *const places[] = {"", KB_PEERS_FOLDER "/"};
    const char *asked = getenv("KEYBITS_PEERS");
    char folder[2048], path[4096];
    if (asked && *asked) {
        module_open(asked);
        return;
    }
    program_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%s%s", folder, places[i], MODULE_FILE);
        if (!io_path_exists(path)) continue;
        module_open(path);
        return;
    }
    io_fail(&reason,
            "%s is not there: neither beside the program nor in %s%s; it is built and installed where OpenCV's "
            "development files are found",
            MODULE_FILE, folder, KB_PEERS_FOLDER);
}

static const ev_peers_module *peers(void)
{
    pthread_once(&once, module_load);
    return module;
}

/* For calls that need the module; NULL with the reason. */
static const ev_peers_module *peers_or_fail(const char *what, io_error *error)
{
    if (!peers()) io_fail(error, "%s needs OpenCV: %.300s", what, reason.text);
    return module;
}

bool ev_peers_available(io_error *error) { return peers() || io_fail(error, "%s", reason.text); }

const char *ev_peer_name(int index) { return peers() ? module->name(index) : NULL; }

const char *ev_peers_version(void) { return peers() ? module->version : "none"; }

const char *ev_peer_find(const char *name, io_error *error)
{
    char names[256] = "";
    if (!peers_or_fail(name, error)) return NULL;
    const char *known;
    for (int i = 0; (known = module->name(i)) != NULL; i++) {
        if (strcmp(known, name) == 0) return known;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, " %s", known);
    }
    io_fail(error, "%s: not one of the peers in this build:%s", name, names);
    return NULL;
}

bool ev_peer_describe(const char *peer, const kb_image *image, const kb_keypoint *keypoints, size_t n, float scale,
                      io_rows *out, io_error *error)
{
    memset(out, 0, sizeof *out);
    if (!peers_or_fail(peer, error)) return false;
    if (module->works_on_image(peer, keypoints, n, scale))
        return module->describe_image(peer, image, keypoints, n, scale, out, error);
    uint8_t *patches = io_alloc(n + 1, KB_PATCH_SIDE * KB_PATCH_SIDE);
    kb_describe_options options;
    KB_INIT(options);
    options.scale = scale;
    kb_features f = io_keypoints_view(keypoints, n);
    kb_status status = kb_sample(image, KB_SAMPLER_PATCH, &options, NULL, &f, patches, NULL);
    bool good = status == KB_OK ? module->describe_patches(peer, patches, n, KB_PATCH_SIDE, out, error)
                                : io_fail(error, "%s: %s", peer, kb_status_string(status));
    free(patches);
    return good;
}

bool ev_peer_describe_patches(const char *peer, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                              io_error *error)
{
    memset(out, 0, sizeof *out);
    return peers_or_fail(peer, error) && module->describe_patches(peer, patches, n, side, out, error);
}

bool ev_peer_keypoints(const char *peer, const kb_image *image, int32_t max_keypoints, io_keypoints *out, float *scale,
                       io_error *error)
{
    return peers_or_fail(peer, error) && module->keypoints(peer, image, max_keypoints, out, scale, error);
}

void ev_peers_threads(int32_t threads)
{
    if (peers()) module->threads(threads);
}

bool ev_peer_detect(kb_detector detector, const kb_image *image, int32_t max_keypoints, io_keypoints *out,
                    io_error *error)
{
    return peers_or_fail("detection by a peer", error) && module->detect(detector, image, max_keypoints, out, error);
}

bool ev_peer_match(const io_rows *a, const io_rows *b, kb_match *matches, size_t *count, io_error *error)
{
    return peers_or_fail("matching by a peer", error) && module->match(a, b, matches, count, error);
}

bool ev_peer_fit(const kb_point_pair *pairs, size_t n, io_error *error)
{
    return peers_or_fail("a fit by a peer", error) && module->fit(pairs, n, error);
}

static void straighten(const kb_camera *c, double x, double y, double *u, double *v)
{
    kb_camera_unproject(c, x, y, u, v);
    *u = c->fx * *u + c->cx;
    *v = c->fy * *v + c->cy;
}

/* The pairs as cameras without distortion see them, which is all that OpenCV's solver takes; NULL: they are such. */
static kb_point_pair *without_distortion(const kb_point_pair *pairs, size_t n, const kb_camera *const cameras[2])
{
    bool bent = false;
    for (int k = 0; k < 2; k++) {
        const kb_camera *c = cameras[k];
        bent |= c->fisheye || c->k1 != 0 || c->k2 != 0 || c->p1 != 0 || c->p2 != 0 || c->k3 != 0;
    }
    kb_point_pair *out = bent ? io_alloc(n + 1, sizeof *out) : NULL;
    for (size_t i = 0; i < n && out; i++) {
        straighten(cameras[0], pairs[i].x1, pairs[i].y1, &out[i].x1, &out[i].y1);
        straighten(cameras[1], pairs[i].x2, pairs[i].y2, &out[i].x2, &out[i].y2);
    }
    return out;
}

bool ev_peer_essential(const kb_point_pair *pairs, size_t n, const kb_camera *camera1, const kb_camera *camera2,
                       double threshold, double rotation[9], double translation[3], bool *found, io_error *error)
{
    kb_point_pair *straight = without_distortion(pairs, n, (const kb_camera *const[2]){camera1, camera2});
    bool good = peers_or_fail("an essential matrix by a peer", error) &&
                module->essential(straight ? straight : pairs, n, camera1, camera2, threshold, rotation, translation,
                                  found, error);
    free(straight);
    return good;
}

bool ev_peer_pose(const kb_scene_point *points, size_t n, const kb_camera *camera, double threshold, double rotation[9],
                  double translation[3], bool *found, io_error *error)
{
    return peers_or_fail("a pose by a peer", error) &&
           module->pose(points, n, camera, threshold, rotation, translation, found, error);
}
