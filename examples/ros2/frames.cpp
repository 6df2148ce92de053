/* SPDX-License-Identifier: Apache-2.0 */
// keybits_frames IMAGE...: what the node publishes of the images of a topic, as one line per image.
#include <cstdio>

#include <opencv2/imgcodecs.hpp>

#include "frame_matcher.hpp"

int main(int argc, char **argv)
{
    keybits_ros::FrameMatcher frames("bag256", 1000);
    for (int i = 1; i < argc; i++) {
        const cv::Mat image = cv::imread(argv[i], cv::IMREAD_GRAYSCALE);
        if (image.empty()) {
            std::fprintf(stderr, "%s: not an image\n", argv[i]);
            return 1;
        }
        frames.add(image);
        std::printf("%s: %zu features, %zu matches with the image before\n", argv[i], frames.now().keypoints.size(),
                    frames.matches().size());
    }
    return 0;
}
