/* SPDX-License-Identifier: Apache-2.0 */
// Points over frames: kb_track_points against cv::calcOpticalFlowPyrLK, forward and back, of the same points in the same
// rendered frames: a plane that turns, comes nearer and moves, with noise and changes of brightness.
//
//     build/bench/track_points [WIDTH HEIGHT FRAMES POINTS]
//
// Prints milliseconds of CPU time per frame on one thread, the share of points that are followed, and how far they are
// from the truth after one frame and, followed from frame to frame, at the end.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

#include <keybits/advanced.h>

namespace {

typedef std::vector<cv::Point2f> Points;

// A texture of rectangles at all scales, blurred as a lens does.
cv::Mat texture(int width, int height)
{
    cv::RNG random(5);
    cv::Mat image(height, width, CV_8U, cv::Scalar(110));
    for (int i = 0; i < width * height / 250; i++) {
        const double size = 3 * std::exp(3 * random.uniform(0., 1.));
        const cv::RotatedRect box(cv::Point2f(random.uniform(0.f, float(width)), random.uniform(0.f, float(height))),
                                  cv::Size2f(float(size), float(size * random.uniform(.5, 2.))), random.uniform(0.f, 180.f));
        cv::Point2f corners[4];
        box.points(corners);
        std::vector<cv::Point> polygon(corners, corners + 4);
        cv::fillConvexPoly(image, polygon, cv::Scalar(random.uniform(20, 236)), cv::LINE_AA);
    }
    cv::GaussianBlur(image, image, cv::Size(), 1.2);
    return image;
}

// From the texture, whose middle the camera looks at, to frame i.
cv::Matx33d motion(int i, int width, int height)
{
    const double t = 0.1 * i, angle = 0.06 * std::sin(1.3 * t), zoom = 0.9 + 0.12 * std::sin(0.7 * t);
    const double dx = 40 * std::sin(0.9 * t) + 0.37 * i, dy = 30 * std::sin(0.6 * t);
    const cv::Matx33d centre(1, 0, -width, 0, 1, -height, 0, 0, 1); // the texture is twice as large
    const cv::Matx33d turn(zoom * std::cos(angle), -zoom * std::sin(angle), dx, zoom * std::sin(angle),
                           zoom * std::cos(angle), dy, 1e-4 * std::sin(t), 5e-5 * std::cos(t), 1);
    return cv::Matx33d(1, 0, width / 2., 0, 1, height / 2., 0, 0, 1) * turn * centre;
}

std::vector<cv::Mat> render(const cv::Mat &plane, int frames, int width, int height)
{
    std::vector<cv::Mat> result;
    cv::RNG random(9);
    for (int i = 0; i < frames; i++) {
        cv::Mat frame, noise(height, width, CV_16S);
        cv::warpPerspective(plane, frame, motion(i, width, height), cv::Size(width, height), cv::INTER_LINEAR);
        frame.convertTo(frame, CV_16S, 1 + 0.1 * std::sin(0.5 * i), 6 * std::sin(0.8 * i));
        random.fill(noise, cv::RNG::NORMAL, 0, 2);
        cv::Mat(frame + noise).convertTo(frame, CV_8U);
        result.push_back(frame);
    }
    return result;
}

struct Result {
    double seconds;
    std::vector<double> step, end; // px from the truth: after one frame; followed from the first to the last
    std::size_t asked;
};

class Follower {
public:
    virtual ~Follower() {}
    virtual const char *name() const = 0;
    virtual void follow(const cv::Mat &a, const cv::Mat &b, const Points &from, Points &to, std::vector<uchar> &found) = 0;
};

class Keybits : public Follower {
public:
    Keybits() { kb_workspace_create(NULL, &workspace_); }
    ~Keybits() override { kb_workspace_free(workspace_); }
    const char *name() const override { return "kb_track_points"; }
    void follow(const cv::Mat &a, const cv::Mat &b, const Points &from, Points &to, std::vector<uchar> &found) override
    {
        kb_image images[2];
        for (int i = 0; i < 2; i++) {
            const cv::Mat &m = i ? b : a;
            images[i] = kb_image{m.data, m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step[0]), KB_FORMAT_GRAY8, 0};
        }
        std::vector<float> correlations(from.size());
        to.resize(from.size());
        std::vector<kb_keypoint> keypoints[2];
        kb_features features[2];
        for (int i = 0; i < 2; i++) {
            keypoints[i].resize(from.size());
            KB_INIT(features[i]);
            features[i].keypoints = keypoints[i].data();
            features[i].n = features[i].capacity = from.size();
        }
        for (std::size_t i = 0; i < from.size(); i++) keypoints[0][i].x = from[i].x, keypoints[0][i].y = from[i].y;
        if (kb_track_points(&images[0], &images[1], &features[0], NULL, workspace_, &features[1], correlations.data(),
                            NULL) != KB_OK)
            std::exit(1);
        for (std::size_t i = 0; i < from.size(); i++) to[i] = cv::Point2f(keypoints[1][i].x, keypoints[1][i].y);
        found.resize(from.size());
        for (std::size_t i = 0; i < from.size(); i++) found[i] = correlations[i] > 0;
    }

private:
    kb_workspace *workspace_;
};

class OpenCV : public Follower {
public:
    const char *name() const override { return "cv::calcOpticalFlowPyrLK"; }
    void follow(const cv::Mat &a, const cv::Mat &b, const Points &from, Points &to, std::vector<uchar> &found) override
    {
        std::vector<uchar> back_found;
        std::vector<float> error;
        std::vector<cv::Mat> pyramids[2]; // built once, as for kb_track_points
        Points back;
        cv::buildOpticalFlowPyramid(a, pyramids[0], cv::Size(21, 21), 3);
        cv::buildOpticalFlowPyramid(b, pyramids[1], cv::Size(21, 21), 3);
        cv::calcOpticalFlowPyrLK(pyramids[0], pyramids[1], from, to, found, error);
        cv::calcOpticalFlowPyrLK(pyramids[1], pyramids[0], to, back, back_found, error);
        for (std::size_t i = 0; i < from.size(); i++)
            found[i] = found[i] && back_found[i] && std::hypot(back[i].x - from[i].x, back[i].y - from[i].y) <= 0.5;
    }
};

double distance(const cv::Matx33d &h, const cv::Point2f &from, const cv::Point2f &to)
{
    const cv::Vec3d p = h * cv::Vec3d(from.x, from.y, 1);
    return std::hypot(p[0] / p[2] - to.x, p[1] / p[2] - to.y);
}

double timed(Follower &follower, const cv::Mat &a, const cv::Mat &b, const Points &from, Points &to,
             std::vector<uchar> &found)
{
    const std::clock_t start = std::clock();
    follower.follow(a, b, from, to, found);
    return double(std::clock() - start) / CLOCKS_PER_SEC;
}

Result run(Follower &follower, const std::vector<cv::Mat> &frames, const Points &points)
{
    Result result = {0, {}, {}, points.size()};
    const int width = frames[0].cols, height = frames[0].rows;
    Points alive = points, start = points, to;
    std::vector<uchar> found;
    for (std::size_t i = 0; i + 1 < frames.size(); i++) {
        result.seconds += timed(follower, frames[i], frames[i + 1], alive, to, found);
        const cv::Matx33d h = motion(int(i) + 1, width, height) * motion(int(i), width, height).inv();
        std::size_t kept = 0;
        for (std::size_t k = 0; k < alive.size(); k++) {
            if (!found[k]) continue;
            result.step.push_back(distance(h, alive[k], to[k]));
            start[kept] = start[k];
            alive[kept++] = to[k];
        }
        start.resize(kept);
        alive.resize(kept);
    }
    const cv::Matx33d h = motion(int(frames.size()) - 1, width, height) * motion(0, width, height).inv();
    for (std::size_t k = 0; k < alive.size(); k++) result.end.push_back(distance(h, start[k], alive[k]));
    return result;
}

double quantile(std::vector<double> values, double q)
{
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::size_t(q * double(values.size() - 1))];
}

} // namespace

int main(int argc, char **argv)
{
    const int width = argc > 1 ? std::atoi(argv[1]) : 752, height = argc > 2 ? std::atoi(argv[2]) : 480;
    const int count = argc > 3 ? std::atoi(argv[3]) : 40, most = argc > 4 ? std::atoi(argv[4]) : 300;
    if (width < 64 || height < 64 || count < 2 || most < 1) {
        std::fprintf(stderr, "usage: track_points [WIDTH HEIGHT FRAMES POINTS]\n");
        return 2;
    }
    cv::setNumThreads(1);
    const std::vector<cv::Mat> frames = render(texture(2 * width, 2 * height), count, width, height);
    Points points;
    cv::goodFeaturesToTrack(frames[0], points, most, 0.01, 8);
    Keybits mine;
    OpenCV theirs;
    Follower *followers[2] = {&mine, &theirs};
    std::printf("%d frames of %d x %d, %zu points of goodFeaturesToTrack\n", count, width, height, points.size());
    std::printf("%-26s %9s %9s %24s %24s\n", "", "ms/frame", "followed", "px, one frame: 50, 95 %", "px, to the end: 50, 95 %");
    double best[2] = {1e9, 1e9};
    Result last[2];
    for (int round = 0; round < 3; round++)
        for (int f = 0; f < 2; f++) {
            last[f] = run(*followers[f], frames, points);
            best[f] = std::min(best[f], last[f].seconds / (count - 1));
        }
    for (int f = 0; f < 2; f++)
        std::printf("%-26s %9.2f %8.1f%% %15.3f %8.3f %15.3f %8.3f\n", followers[f]->name(), 1e3 * best[f],
                    100. * double(last[f].end.size()) / double(last[f].asked), quantile(last[f].step, .5),
                    quantile(last[f].step, .95), quantile(last[f].end, .5), quantile(last[f].end, .95));
    return 0;
}
