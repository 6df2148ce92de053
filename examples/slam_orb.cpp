/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's ORB for slam_frontend.c, to compare with. */
#include <cstddef>
#include <cstring>
#include <vector>

#include <keybits_opencv.hpp>

extern "C" std::size_t slam_orb(int width, int height, uint8_t *pixels, kb_keypoint *keypoints, uint8_t *rows,
                                std::size_t most)
{
    std::vector<cv::KeyPoint> found;
    cv::Mat image(height, width, CV_8U, pixels), described;
    cv::ORB::create(static_cast<int>(most))->detectAndCompute(image, cv::noArray(), found, described);
    if (found.size() > most) found.resize(most);
    std::memcpy(keypoints, kb::as_keypoints(found), found.size() * sizeof *keypoints);
    for (std::size_t i = 0; i < found.size(); i++) std::memcpy(rows + 32 * i, described.ptr(static_cast<int>(i)), 32);
    return found.size();
}
