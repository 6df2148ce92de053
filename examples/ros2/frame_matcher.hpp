/* SPDX-License-Identifier: Apache-2.0 */
// What the node does with a frame, without ROS: features, and matches with the frame before.
#ifndef KEYBITS_ROS_FRAME_MATCHER_HPP
#define KEYBITS_ROS_FRAME_MATCHER_HPP

#include <string>
#include <utility>
#include <vector>

#include <keybits_opencv.hpp>

namespace keybits_ros {

struct Frame {
    std::vector<cv::KeyPoint> keypoints;
    cv::Mat rows; // a descriptor per keypoint
};

class FrameMatcher {
public:
    FrameMatcher(const std::string &model, int max_keypoints)
        : features_(kb::Features::create(model, max_keypoints)), matcher_(kb::Matcher::create(true))
    {
    }

    // Takes a frame; matches() are then its mutual nearest neighbours in the frame before.
    void add(const cv::Mat &image)
    {
        std::swap(now_, before_);
        now_ = Frame();
        matches_.clear();
        features_->detectAndCompute(image, cv::noArray(), now_.keypoints, now_.rows);
        if (!before_.rows.empty() && !now_.rows.empty()) matcher_->match(before_.rows, now_.rows, matches_);
    }

    const Frame &now() const { return now_; }
    const Frame &before() const { return before_; }
    const std::vector<cv::DMatch> &matches() const { return matches_; }

private:
    cv::Ptr<kb::Features> features_;
    cv::Ptr<kb::Matcher> matcher_;
    Frame now_, before_;
    std::vector<cv::DMatch> matches_;
};

} // namespace keybits_ros
#endif
