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
        make_pyramid(gray.pixels());
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
    /* What ORBmatcher::TH_LOW and TH_HIGH are to be with this model; 0 for a model of one's own. */
    int thresholdLow() const { return model().info().threshold_low; }
    int thresholdHigh() const { return model().info().threshold_high; }

    std::vector<cv::Mat> mvImagePyramid; /* level 0 is a copy of the image */

protected:
    static kb_detect_options detect_options(int nfeatures, float scaleFactor, int nlevels, int iniThFAST, int minThFAST)
    {
        kb_detect_options options;
        KB_INIT(options);
        options.max_keypoints = nfeatures;
        options.selection = KB_SELECT_QUADTREE;
        options.levels = nlevels;
        options.level_factor = scaleFactor;
        options.fast_threshold = iniThFAST;
        options.fast_threshold_min = minThFAST;
        return options;
    }

    /* Levels as large as theirs: width / factor, rounded. */
    void make_pyramid(const cv::Mat &image)
    {
        image.convertTo(mvImagePyramid[0], CV_8U, image.depth() == CV_16U ? 255.0 / 65535 : 1.0);
        for (std::size_t level = 1; level < mvImagePyramid.size(); level++) {
            cv::Size size(cvRound(static_cast<float>(image.cols) * mvInvScaleFactor[level]),
                          cvRound(static_cast<float>(image.rows) * mvInvScaleFactor[level]));
            size.width = std::max(size.width, 1);
            size.height = std::max(size.height, 1);
            cv::resize(mvImagePyramid[level - 1], mvImagePyramid[level], size, 0, 0, cv::INTER_LINEAR);
        }
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
    std::vector<float> mvScaleFactor, mvInvScaleFactor, mvLevelSigma2, mvInvLevelSigma2;
};

} // namespace kb
#endif
