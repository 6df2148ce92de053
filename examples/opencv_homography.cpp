/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCV program that finds the homography between two images, with keybits in place of ORB: one line has changed.
 *
 *     opencv_homography [first second [matches.png]]
 */
#include <cstdio>

#include <opencv2/calib3d.hpp>
#include <opencv2/imgcodecs.hpp>

#include <keybits_opencv.hpp>

/* A scene for those who gave no images: rectangles of random gray. */
static cv::Mat render(int width, int height)
{
    cv::RNG random(1);
    cv::Mat image(height, width, CV_8U, cv::Scalar(90));
    for (int i = 0; i < 900; i++) {
        cv::Rect box(random.uniform(0, width), random.uniform(0, height), random.uniform(4, 40), random.uniform(4, 40));
        cv::rectangle(image, box, cv::Scalar(random.uniform(0, 256)), cv::FILLED);
    }
    return image;
}

int main(int argc, char **argv)
{
    cv::Mat first, second;
    if (argc > 2) {
        first = cv::imread(argv[1], cv::IMREAD_COLOR);
        second = cv::imread(argv[2], cv::IMREAD_COLOR);
        if (first.empty() || second.empty()) {
            std::fprintf(stderr, "%s: cannot be read\n", first.empty() ? argv[1] : argv[2]);
            return 1;
        }
    } else {
        const double view[9] = {0.9, -0.15, 30, 0.12, 0.95, -10, 0.0002, 0, 1};
        first = render(640, 480);
        cv::warpPerspective(first, second, cv::Mat(3, 3, CV_64F, const_cast<double *>(view)), first.size());
    }

    cv::Ptr<cv::Feature2D> features = kb::Features::create("bag256"); // was: cv::ORB::create(2000)
    std::vector<cv::KeyPoint> keypoints1, keypoints2;
    cv::Mat descriptors1, descriptors2;
    features->detectAndCompute(first, cv::noArray(), keypoints1, descriptors1);
    features->detectAndCompute(second, cv::noArray(), keypoints2, descriptors2);

    cv::BFMatcher matcher(features->defaultNorm());
    std::vector<std::vector<cv::DMatch> > nearest;
    matcher.knnMatch(descriptors1, descriptors2, nearest, 2);
    std::vector<cv::DMatch> good;
    std::vector<cv::Point2f> points1, points2;
    for (std::size_t i = 0; i < nearest.size(); i++) {
        if (nearest[i].size() < 2 || nearest[i][0].distance >= 0.8f * nearest[i][1].distance) continue;
        good.push_back(nearest[i][0]);
        points1.push_back(keypoints1[static_cast<std::size_t>(good.back().queryIdx)].pt);
        points2.push_back(keypoints2[static_cast<std::size_t>(good.back().trainIdx)].pt);
    }
    if (good.size() < 4) {
        std::printf("too few matches: %d\n", static_cast<int>(good.size()));
        return 1;
    }
    cv::Mat inliers, homography = cv::findHomography(points1, points2, cv::RANSAC, 3, inliers);
    std::printf("keypoints %d %d\nmatches %d\ninliers %d\n", static_cast<int>(keypoints1.size()),
                static_cast<int>(keypoints2.size()), static_cast<int>(good.size()), cv::countNonZero(inliers));
    for (int y = 0; y < homography.rows; y++)
        std::printf("%12.6g %12.6g %12.6g\n", homography.at<double>(y, 0), homography.at<double>(y, 1),
                    homography.at<double>(y, 2));
    if (argc > 3) {
        cv::Mat drawing;
        cv::drawMatches(first, keypoints1, second, keypoints2, good, drawing, cv::Scalar::all(-1), cv::Scalar::all(-1),
                        inliers);
        if (!cv::imwrite(argv[3], drawing)) return 1;
    }
    return 0;
}
