/* SPDX-License-Identifier: Apache-2.0 */
/* The feature extractor of ORB-SLAM2, ORB-SLAM3 and their kin by keybits: the same constructor, calls and getters, and
 * the image pyramid that their stereo code reads. docs/slam.md tells what else to change.
 *
 *     namespace ORB_SLAM3 { // instead of their class
 *     class ORBextractor : public kb::OrbSlamExtractor { public: using kb::OrbSlamExtractor::OrbSlamExtractor; };
 *     } */
#ifndef KEYBITS_ORBSLAM_HPP
#define KEYBITS_ORBSLAM_HPP

#include "keybits_opencv.hpp"

namespace kb {

class OrbSlamExtractor {
public:
    enum { HARRIS_SCORE = 0, FAST_SCORE = 1 };

    /* The model has rows of 32 bytes, as everything behind the extractor expects. */
    OrbSlamExtractor(int nfeatures, float scaleFactor, int nlevels, int iniThFAST, int minThFAST,
                     const std::string &model = "bag256")
        : features_(Model(model), detect_options(nfeatures, scaleFactor, nlevels, iniThFAST, minThFAST))
    {
        if (features_.descriptorSize() != 32 || features_.descriptorType() != CV_8U)
            CV_Error(cv::Error::StsBadArg, "keybits: ORB-SLAM has descriptors of 256 bits, which " + model + " has not");
        if (nlevels < 1) CV_Error(cv::Error::StsBadArg, "keybits: a pyramid has one level at least");
        float scale = 1;
        for (int level = 0; level < nlevels; level++, scale *= scaleFactor) {
            mvScaleFactor.push_back(scale);
            mvInvScaleFactor.push_back(1 / scale);
            mvLevelSigma2.push_back(scale * scale);
            mvInvLevelSigma2.push_back(1 / (scale * scale));
        }
        mvImagePyramid.resize(static_cast<std::size_t>(nlevels));
    }

    /* Keypoints are in pixels of the image, with the level as octave, size 31 px of that level, angle and response;
     * strongest first. Those with lapping[0] <= x <= lapping[1] (the part of the image that the other camera of a
     * stereo pair sees) come last, from the end backwards. Returns how many come before them. The mask counts, which
     * theirs does not; it may be empty. An empty image gives -1. */
    int operator()(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint> &keypoints,
                   cv::OutputArray descriptors, std::vector<int> &vLappingArea)
    {
        if (image.empty()) return -1;
        std::vector<cv::KeyPoint> found;
        cv::Mat rows;
        GrayImage gray(image.getMat());
        features_.detectAndCompute(gray.pixels(), mask, found, rows, false);
        make_pyramid(gray);
        if (found.empty()) {
            keypoints.clear();
            descriptors.release();
            return 0;
        }
        return order(found, rows, keypoints, descriptors, vLappingArea);
    }

    /* That of ORB-SLAM2. */
    void operator()(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint> &keypoints,
                    cv::OutputArray descriptors)
    {
        std::vector<int> nothing;
        (*this)(image, mask, keypoints, descriptors, nothing);
    }

    int GetLevels() const { return static_cast<int>(mvScaleFactor.size()); }
    float GetScaleFactor() const { return features_.options().level_factor; }
    std::vector<float> GetScaleFactors() const { return mvScaleFactor; }
    std::vector<float> GetInverseScaleFactors() const { return mvInvScaleFactor; }
    std::vector<float> GetScaleSigmaSquares() const { return mvLevelSigma2; }
    std::vector<float> GetInverseScaleSigmaSquares() const { return mvInvLevelSigma2; }

    const Model &model() const { return features_.model(); }
    /* All options of detection, such as orientation: KB_ORIENTATION_NONE is for cameras that hardly roll. The number of
     * levels and their factor stay as they were given. */
    kb_detect_options &options() { return features_.options(); }
    /* What ORBmatcher::TH_LOW and TH_HIGH are to be with this model; 0 for a model that nobody has measured. */
    int thresholdLow() const { return model().info().threshold_low; }
    int thresholdHigh() const { return model().info().threshold_high; }
    /* What stands for a ratio of 0.75 of ORB; 0 as above. */
    float ratio() const { return model().info().ratio; }

    /* The pyramid of kb_pyramid_build; level 0 is a copy of the image. Levels below 70 px, which have no keypoints, are
     * empty. */
    std::vector<cv::Mat> mvImagePyramid;

protected:
    static kb_detect_options detect_options(int nfeatures, float scaleFactor, int nlevels, int iniThFAST, int minThFAST)
    {
        kb_detect_options options;
        KB_INIT(options);
        options.detector = KB_DETECTOR_ORB; // whose thresholds these are
        options.max_keypoints = nfeatures;
        options.selection = KB_SELECTION_QUADTREE;
        options.every_level = 1;
        options.levels = nlevels;
        options.level_factor = scaleFactor;
        options.fast_threshold = iniThFAST;
        options.fast_threshold_min = minThFAST;
        return options;
    }

    /* The pyramid that the keypoints were found in, in memory of its own, so that what a frame holds of it stays. */
    void make_pyramid(const GrayImage &gray)
    {
        kb_detect_options options = features_.options();
        kb_parallel threads = parallel();
        kb_pyramid pyramid;
        std::size_t size = 0;
        options.parallel = &threads;
        KB_INIT(pyramid);
        check(kb_pyramid_build(gray.view(), &options, workspace_.get(), NULL, 0, NULL, &size), "kb_pyramid_build");
        /* The view of a level takes whole rows, so that behind the last one there must be something. */
        cv::Mat memory(1, static_cast<int>(size) + gray.pixels().cols + 64, CV_8U);
        check(kb_pyramid_build(gray.view(), &options, workspace_.get(), memory.data, size, &pyramid, &size),
              "kb_pyramid_build");
        mvImagePyramid.assign(mvImagePyramid.size(), cv::Mat());
        if (gray.view()->format == KB_FORMAT_GRAY8) mvImagePyramid[0] = gray.pixels().clone();
        for (std::size_t i = 0; i < mvImagePyramid.size() && i < static_cast<std::size_t>(pyramid.levels); i++)
            if (pyramid.level[i].data != gray.view()->data) mvImagePyramid[i] = level_view(memory, pyramid.level[i]);
    }

    static cv::Mat level_view(const cv::Mat &memory, const kb_image &level)
    {
        int from = static_cast<int>(static_cast<const uchar *>(level.data) - memory.data);
        int stride = static_cast<int>(level.stride);
        return memory.colRange(from, from + stride * level.height).reshape(1, level.height).colRange(0, level.width);
    }

    static int order(const std::vector<cv::KeyPoint> &found, const cv::Mat &rows, std::vector<cv::KeyPoint> &keypoints,
                     cv::OutputArray descriptors, const std::vector<int> &lapping)
    {
        int first = 0, last = rows.rows - 1;
        cv::Mat sorted(rows.size(), rows.type());
        keypoints.resize(found.size());
        for (int i = 0; i < rows.rows; i++) {
            const cv::KeyPoint &k = found[static_cast<std::size_t>(i)];
            bool laps = lapping.size() >= 2 && k.pt.x >= static_cast<float>(lapping[0]) &&
                        k.pt.x <= static_cast<float>(lapping[1]);
            int place = laps ? last-- : first++;
            keypoints[static_cast<std::size_t>(place)] = k;
            rows.row(i).copyTo(sorted.row(place));
        }
        sorted.copyTo(descriptors);
        return first;
    }

    Features features_;
    Workspace workspace_;
    std::vector<float> mvScaleFactor, mvInvScaleFactor, mvLevelSigma2, mvInvLevelSigma2;
};

} // namespace kb
#endif
