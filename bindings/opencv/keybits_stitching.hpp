/* SPDX-License-Identifier: Apache-2.0 */
/* cv::Stitcher with keybits. OpenCV's own matcher of panoramas takes a pair whose confidence exceeds 3 for the same
 * picture twice and drops it; pairs of these descriptors, with few wrong matches, often have more. kb::PanoramaMatcher
 * drops only pairs that really are the same picture.
 *
 *     stitcher->setFeaturesFinder(kb::Features::create());
 *     stitcher->setFeaturesMatcher(cv::makePtr<kb::PanoramaMatcher>()); */
#ifndef KEYBITS_STITCHING_HPP
#define KEYBITS_STITCHING_HPP

#include <cmath>

#include <opencv2/stitching/detail/matchers.hpp>

#include "keybits_opencv.hpp"

namespace kb {

class PanoramaMatcher : public cv::detail::BestOf2NearestMatcher {
public:
    /* same: the mean shift of the image's corners, relative to its diagonal, below which two images are one picture. */
    explicit PanoramaMatcher(float match_conf = 0.3f, int num_matches_thresh1 = 6, int num_matches_thresh2 = 6,
                             double same = 0.01)
        : cv::detail::BestOf2NearestMatcher(false, match_conf, num_matches_thresh1, num_matches_thresh2), same_(same)
    {
    }

protected:
    void match(const cv::detail::ImageFeatures &a, const cv::detail::ImageFeatures &b,
               cv::detail::MatchesInfo &info) override
    {
        cv::detail::BestOf2NearestMatcher::match(a, b, info);
        if (info.confidence > 0 || info.H.empty() || info.num_inliers == 0) return;
        const double confidence = info.num_inliers / (8 + 0.3 * static_cast<double>(info.matches.size()));
        if (confidence > 3 && shift(info.H, a.img_size) > same_) info.confidence = 3;
    }

    /* The homography is between images whose origins are in their centres. */
    static double shift(const cv::Mat &homography, const cv::Size &size)
    {
        cv::Mat_<double> h(homography);
        double sum = 0;
        for (int corner = 0; corner < 4; corner++) {
            const double x = (corner & 1 ? 0.5 : -0.5) * size.width, y = (corner & 2 ? 0.5 : -0.5) * size.height;
            const double z = h(2, 0) * x + h(2, 1) * y + h(2, 2);
            sum += std::hypot((h(0, 0) * x + h(0, 1) * y + h(0, 2)) / z - x,
                              (h(1, 0) * x + h(1, 1) * y + h(1, 2)) / z - y);
        }
        return sum / 4 / std::hypot(size.width, size.height);
    }

    double same_;
};

} // namespace kb
#endif
