#include "model/model.h"
#include "pair/pair.h"

static kb_status compute_angles(pair_job *job, pair_side *side)
{
    kb_orient_options o;
    KB_INIT(o);
    o.orientation = job->detect.orientation;
    o.scale = job->options.scale;
    o.parallel = job->options.parallel;
    side->angles = kbi_workspace_array(job->workspace, side->f.n, sizeof *side->angles);
    if (!side->angles) return KB_E_MEMORY;
    kb_status status = kb_orient(&side->gray, &o, job->workspace, &side->f, NULL, job->error);
    for (size_t i = 0; i < side->f.n; i++) side->angles[i] = side->f.keypoints[i].angle;
    return status;
}

kb_status kbi_pair_set_angles(pair_job *job, const pair_look *look)
{
    for (int k = 0; k < 2; k++) {
        pair_side *side = &job->sides[k];
        if (look->look == KB_LOOK_ORIENTED && !side->angles) {
            kb_status status = compute_angles(job, side);
            if (status != KB_OK) return status;
        }
        float angle = look->look == KB_LOOK_UPRIGHT ? -1.0f : k == 0 ? 0.0f : look->rotation;
        for (size_t i = 0; i < side->f.n; i++)
            side->f.keypoints[i].angle = look->look == KB_LOOK_ORIENTED ? side->angles[i] : angle;
    }
    return KB_OK;
}

static kb_status describe(const pair_job *job, pair_side *side)
{
    kb_describe_options o;
    KB_INIT(o);
    o.scale = job->options.scale;
    o.parallel = job->options.parallel;
    return kb_describe(job->model, &side->gray, &o, job->workspace, &side->f, job->error);
}

static kb_status match(const pair_job *job, pair_look *out)
{
    const kb_features *a = &job->sides[0].f, *b = &job->sides[1].f;
    kb_status status = kb_match_features(a, b, &job->match, job->workspace, out->matches, &out->count, job->error);
    out->candidates = out->count;
    if (status != KB_OK || job->options.no_filter) return status;
    return kb_filter(a, b, out->matches, out->count, job->options.filter, job->workspace, out->matches, &out->count,
                     job->error);
}

static kb_status fit(const pair_job *job, pair_look *out)
{
    kb_fit_options o = job->fit;
    KB_INIT(out->fit);
    out->fit.result = KB_FIT_NOT_FOUND;
    memset(out->inliers, 0, out->count);
    if (!job->options.fit) return KB_OK;
    o.quality = job->quality;
    o.candidates = out->candidates;
    o.looks = job->looks * (o.looks > 0 ? o.looks : 1);
    kb_status status = kb_match_points(&job->sides[0].f, &job->sides[1].f, out->matches, out->count, job->points,
                                       job->quality, job->error);
    if (status == KB_OK)
        status = kb_fit(job->points, out->count, &o, job->workspace, out->inliers, &out->fit, job->error);
    return status;
}

kb_status kbi_pair_look(pair_job *job, pair_look *out)
{
    job->looks++;
    kb_status status = kbi_pair_set_angles(job, out);
    for (int k = 0; k < 2 && status == KB_OK; k++) status = describe(job, &job->sides[k]);
    if (status == KB_OK) status = match(job, out);
    return status == KB_OK ? fit(job, out) : status;
}
