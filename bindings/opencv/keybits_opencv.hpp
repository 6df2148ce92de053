/* SPDX-License-Identifier: Apache-2.0 */
/* keybits in OpenCV programs: kb::Features is a cv::Feature2D, kb::Matcher a cv::DescriptorMatcher.
 *
 *     cv::Ptr<cv::Feature2D> features = kb::Features::create("bag256");       // was cv::ORB::create()
 *     cv::Ptr<cv::DescriptorMatcher> matcher = kb::Matcher::create();         // was cv::BFMatcher::create(NORM_HAMMING)
 *
 * Header-only, C++11, OpenCV 4 and 5. Keypoints are not copied: a cv::KeyPoint is a kb_keypoint. Work is shared between
 * the threads of cv::parallel_for_, so that cv::setNumThreads rules. Errors are cv::Exception with the library's
 * sentence. An object serves one call at a time, as OpenCV's own do. */
#ifndef KEYBITS_OPENCV_HPP
#define KEYBITS_OPENCV_HPP

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>
#if defined(__has_include)
#  if __has_include(<opencv2/features.hpp>)
#    include <opencv2/features.hpp> /* OpenCV 5 */
#  else
#    include <opencv2/features2d.hpp>
#  endif
#else
#  include <opencv2/features2d.hpp>
#endif

#include <keybits/advanced.h>

namespace kb {

static_assert(std::is_standard_layout<cv::KeyPoint>::value && sizeof(cv::KeyPoint) == sizeof(kb_keypoint) &&
                  alignof(cv::KeyPoint) == alignof(kb_keypoint) &&
                  offsetof(cv::KeyPoint, pt) == offsetof(kb_keypoint, x) &&
                  offsetof(cv::KeyPoint, size) == offsetof(kb_keypoint, size) &&
                  offsetof(cv::KeyPoint, angle) == offsetof(kb_keypoint, angle) &&
                  offsetof(cv::KeyPoint, response) == offsetof(kb_keypoint, response) &&
                  offsetof(cv::KeyPoint, octave) == offsetof(kb_keypoint, octave) &&
                  offsetof(cv::KeyPoint, class_id) == offsetof(kb_keypoint, class_id) && sizeof(int) == 4,
              "cv::KeyPoint has not the layout of kb_keypoint");

/* ------------------------------------------------------------------------------------------------------ foundation */

/* Throws cv::Exception unless all is well. */
inline void check(kb_status status, const std::string &what)
{
    if (status == KB_OK) return;
    cv::Error::Code code = cv::Error::StsError; /* of OpenCV 5, which takes no int */
    if (status == KB_E_MEMORY) code = cv::Error::StsNoMem;
    if (status == KB_E_ARGUMENT) code = cv::Error::StsBadArg;
    CV_Error(code, "keybits: " + what + ": " + kb_status_string(status));
}
/* With the sentence that names the value at fault. */
inline void check(kb_status status, const std::string &what, const kb_error &error)
{
    check(status, status == KB_OK ? what : what + ": " + error.text);
}

inline kb_keypoint *as_keypoints(std::vector<cv::KeyPoint> &keypoints)
{
    return reinterpret_cast<kb_keypoint *>(keypoints.data());
}
inline const kb_keypoint *as_keypoints(const std::vector<cv::KeyPoint> &keypoints)
{
    return reinterpret_cast<const kb_keypoint *>(keypoints.data());
}

/* Rows of a matrix as the library reads and fills them. */
inline kb_features features_of(const cv::Mat &rows)
{
    kb_features f;
    KB_INIT(f);
    f.rows = rows.data;
    f.n = static_cast<std::size_t>(rows.rows);
    f.row_bytes = static_cast<std::size_t>(rows.cols) * rows.elemSize();
    f.row_stride = rows.rows > 1 ? rows.step[0] : 0;
    f.rows_size = f.n ? (f.n - 1) * f.row_stride + f.row_bytes : 0;
    f.floats = rows.depth() == CV_32F;
    return f;
}

namespace detail {

class Tasks : public cv::ParallelLoopBody {
public:
    Tasks(void (*task)(void *, int32_t), void *context) : task_(task), context_(context) {}
    void operator()(const cv::Range &range) const override
    {
        for (int i = range.start; i < range.end; i++) task_(context_, i);
    }

private:
    void (*task_)(void *, int32_t);
    void *context_;
};

inline void run_tasks(void *, int32_t count, void (*task)(void *context, int32_t index), void *context)
{
    cv::parallel_for_(cv::Range(0, count), Tasks(task, context), count);
}

} // namespace detail

/* cv::parallel_for_ for the library's options. */
inline kb_parallel parallel()
{
    kb_parallel p;
    KB_INIT(p);
    p.run = detail::run_tasks;
    p.threads = cv::getNumThreads();
    return p;
}

/* A built-in model by name, or a model file that ends in .kbm; shared by copies. */
class Model {
public:
    explicit Model(const std::string &name) : source_(name)
    {
        kb_model *model = NULL;
        if (name.size() > 4 && name.compare(name.size() - 4, 4, ".kbm") == 0) {
            model = read(name);
        } else {
            check(kb_model_builtin(name.c_str(), NULL, &model), "model \"" + name + "\"");
        }
        adopt(model);
    }
    /* Takes a model over, and frees it. */
    explicit Model(kb_model *model)
    {
        if (!model) CV_Error(cv::Error::StsNullPtr, "keybits: the model is NULL");
        adopt(model);
    }

    const kb_model *get() const { return model_.get(); }
    const kb_model_info &info() const { return info_; }
    bool floats() const { return info_.row_floats > 0; }
    /* What it was made from: a built-in name or a file's; empty for one that was taken over. */
    const std::string &source() const { return source_; }

private:
    static kb_model *read(const std::string &path)
    {
        std::vector<unsigned char> bytes;
        std::FILE *file = std::fopen(path.c_str(), "rb");
        if (!file) CV_Error(cv::Error::StsObjectNotFound, "keybits: cannot open " + path);
        unsigned char part[4096];
        for (std::size_t n; (n = std::fread(part, 1, sizeof part, file)) > 0;)
            bytes.insert(bytes.end(), part, part + n);
        std::fclose(file);
        kb_model *model = NULL;
        kb_error error;
        if (kb_model_load(bytes.data(), bytes.size(), NULL, &model, &error) != KB_OK)
            CV_Error(cv::Error::StsParseError, "keybits: " + path + ": " + error.text);
        return model;
    }
    void adopt(kb_model *model)
    {
        model_ = std::shared_ptr<kb_model>(model, kb_model_free);
        KB_INIT(info_);
        check(kb_model_get_info(model, &info_), "kb_model_get_info");
    }

    std::string source_;
    std::shared_ptr<kb_model> model_;
    kb_model_info info_;
};

/* Memory that the calls of one object keep for the next one. */
class Workspace {
public:
    Workspace() : workspace_(NULL) { check(kb_workspace_create(NULL, &workspace_), "kb_workspace_create"); }
    ~Workspace() { kb_workspace_free(workspace_); }
    Workspace(const Workspace &) = delete;
    Workspace &operator=(const Workspace &) = delete;
    kb_workspace *get() const { return workspace_; }

private:
    kb_workspace *workspace_;
};

/* A gray image of 8 or 16 bits as OpenCV's own features see it: colour (BGR, BGRA) becomes gray by cvtColor. The view
 * lives as long as the object. */
class GrayImage {
public:
    explicit GrayImage(const cv::Mat &image)
    {
        int depth = image.depth(), channels = image.channels();
        if (image.dims > 2 || (depth != CV_8U && depth != CV_16U) || (channels != 1 && channels != 3 && channels != 4))
            CV_Error(cv::Error::StsUnsupportedFormat,
                     "keybits: images have 8 or 16 bits and 1, 3 or 4 channels, not " + cv::typeToString(image.type()));
        if (channels == 1) pixels_ = image;
        else cv::cvtColor(image, pixels_, channels == 3 ? cv::COLOR_BGR2GRAY : cv::COLOR_BGRA2GRAY);
        view_.data = pixels_.data;
        view_.width = pixels_.cols;
        view_.height = pixels_.rows;
        view_.stride = static_cast<std::ptrdiff_t>(pixels_.step[0]);
        view_.format = depth == CV_8U ? KB_FORMAT_GRAY8 : KB_FORMAT_GRAY16;
        view_.white = 0;
    }
    const kb_image *view() const { return &view_; }
    const cv::Mat &pixels() const { return pixels_; }

private:
    cv::Mat pixels_;
    kb_image view_;
};

/* -------------------------------------------------------------------------------------------------------- features */

/* Any detector with any model. Descriptors are CV_8U rows for NORM_HAMMING; those of "sift" and "rootsift" are CV_32F
 * rows of unit length for NORM_L2. */
class Features : public cv::Feature2D {
public:
    Features(const Model &model, const kb_detect_options &detect)
        : model_(model), detect_(detect), scale_(0), said_sizes_(false), said_widths_(false)
    {
    }

    static cv::Ptr<Features> create(const std::string &model = "bag256", int max_keypoints = 2000,
                                    kb_detector detector = kb_detector())
    {
        kb_detect_options detect;
        KB_INIT(detect);
        detect.detector = detector;
        detect.max_keypoints = max_keypoints;
        return create(Model(model), detect);
    }
    /* With all options of kb_detect; their mask and parallel are set per call. */
    static cv::Ptr<Features> create(const Model &model, const kb_detect_options &detect)
    {
        return cv::Ptr<Features>(new Features(model, detect));
    }

    /* From keypoint size to the width of the described region, for compute() on other detectors' keypoints:
     * kb_model_scale(model.get(), "fast"). 0, the default: what belongs to the detector of this object. */
    void setScale(float scale) { scale_ = scale; }
    float getScale() const
    {
        return scale_ > 0 ? scale_ : kb_model_scale(model_.get(), kb_name(KB_NAMES_DETECTOR, detector()));
    }

    void setMaxFeatures(int max_keypoints) { detect_.max_keypoints = max_keypoints; }
    int getMaxFeatures() const { return detect_.max_keypoints > 0 ? detect_.max_keypoints : DEFAULT_KEYPOINTS; }

    /* The model by name or file, the scale and all options of detection. */
    void write(cv::FileStorage &file) const override
    {
        if (model_.source().empty())
            CV_Error(cv::Error::StsBadArg, "keybits: a model that has neither a name nor a file cannot be written");
        file << "model" << model_.source() << "scale" << scale_;
        kb_detect_options options = detect_;
        each_option(options, WriteOption(file));
    }
    void read(const cv::FileNode &node) override
    {
        cv::String name;
        if (!node["model"].empty()) node["model"] >> name;
        if (name.empty()) CV_Error(cv::Error::StsParseError, "keybits: no \"model\" in the parameters");
        kb_detect_options options;
        KB_INIT(options);
        each_option(options, ReadOption(node));
        kb_error error;
        if (kb_detect(NULL, &options, NULL, NULL, &error) != KB_OK)
            CV_Error(cv::Error::StsParseError, std::string("keybits: ") + error.text);
        float scale = node["scale"].empty() ? 0 : static_cast<float>(node["scale"]);
        model_ = Model(name);
        detect_ = options;
        scale_ = scale;
    }

    kb_detect_options &options() { return detect_; }
    const kb_detect_options &options() const { return detect_; }
    const Model &model() const { return model_; }

    int descriptorSize() const override
    {
        return model_.floats() ? model_.info().row_floats : model_.info().row_bytes;
    }
    int descriptorType() const override { return model_.floats() ? CV_32F : CV_8U; }
    int defaultNorm() const override { return model_.floats() ? cv::NORM_L2 : cv::NORM_HAMMING; }
    bool empty() const override { return false; }
    cv::String getDefaultName() const override { return "Feature2D.keybits"; }

    using cv::Feature2D::detect;
    using cv::Feature2D::compute;

    /* Keypoints come strongest first. With useProvidedKeypoints those outside the image are removed, as
     * cv::Feature2D::compute promises, and a size too small for a region means that the keypoint has none, as
     * cv::KeyPoint(x, y, 1): it is described with the size that keypoints of hessian and orb have on the image itself,
     * 31 px. What this replaces, and regions that hardly belong to the scale, are logged once per object. */
    void detectAndCompute(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint> &keypoints,
                          cv::OutputArray descriptors, bool useProvidedKeypoints = false) override
    {
        if (image.empty()) {
            if (!useProvidedKeypoints) keypoints.clear();
            if (descriptors.needed()) descriptors.release();
            return;
        }
        cv::Mat pixels = image.getMat(), allowed = mask.empty() ? cv::Mat() : mask.getMat();
        GrayImage gray(pixels);
        if (!useProvidedKeypoints) find(gray, allowed, keypoints);
        if (descriptors.needed()) describe(gray, keypoints, descriptors, useProvidedKeypoints);
    }

protected:
    kb_detector detector() const { return kb_detector_get_info(detect_.detector).detector; }

    void find(const GrayImage &gray, const cv::Mat &mask, std::vector<cv::KeyPoint> &keypoints)
    {
        kb_parallel threads = parallel();
        kb_detect_options options = detect_;
        kb_image mask_view = {mask.data, mask.cols, mask.rows, 0, KB_FORMAT_GRAY8, 0};
        if (!mask.empty()) {
            if (mask.type() != CV_8UC1 || mask.size() != gray.pixels().size())
                CV_Error(cv::Error::StsBadMask, "keybits: a mask is CV_8UC1 and as large as its image");
            mask_view.stride = static_cast<std::ptrdiff_t>(mask.step[0]);
            options.mask = &mask_view;
        }
        options.parallel = &threads;
        std::size_t capacity = static_cast<std::size_t>(getMaxFeatures());
        keypoints.resize(capacity);
        kb_features found;
        kb_error error;
        KB_INIT(found);
        found.keypoints = as_keypoints(keypoints);
        found.capacity = capacity;
        check(kb_detect(gray.view(), &options, workspace_.get(), &found, &error), "kb_detect", error);
        keypoints.resize(found.n);
    }

    /* A matrix of the caller that has the right size and type, such as rows of a larger one, is filled. */
    void describe(const GrayImage &gray, std::vector<cv::KeyPoint> &keypoints, cv::OutputArray descriptors, bool given)
    {
        const int count = static_cast<int>(keypoints.size());
        if (!given) {
            descriptors.create(count, descriptorSize(), descriptorType());
            cv::Mat rows = descriptors.getMat();
            describe_into(gray, keypoints, rows, NULL);
            return;
        }
        std::vector<uint8_t> flags(keypoints.size());
        cv::Mat rows(count, descriptorSize(), descriptorType());
        describe_into(gray, with_sizes(keypoints), rows, flags.data());
        say_widths(gray, keypoints);
        remove_undescribed(flags, keypoints, rows);
        rows.copyTo(descriptors);
    }

    void describe_into(const GrayImage &gray, const std::vector<cv::KeyPoint> &keypoints, cv::Mat &rows, uint8_t *flags)
    {
        if (keypoints.empty()) return;
        kb_parallel threads = parallel();
        kb_describe_options options;
        KB_INIT(options);
        options.scale = getScale();
        options.parallel = &threads;
        kb_features features = features_of(rows);
        kb_error error;
        features.keypoints = const_cast<kb_keypoint *>(as_keypoints(keypoints));
        features.flags = flags;
        check(kb_describe(model_.get(), gray.view(), &options, workspace_.get(), &features, &error), "kb_describe",
              error);
    }

    /* Keypoints whose size is too small for a region get the usual one. */
    std::vector<cv::KeyPoint> with_sizes(const std::vector<cv::KeyPoint> &keypoints)
    {
        std::vector<cv::KeyPoint> sized = keypoints;
        const float scale = getScale();
        std::size_t none = 0;
        for (std::size_t i = 0; i < sized.size(); i++)
            if (sized[i].size * scale < KB_SMALL_PATCH) {
                sized[i].size = 31 / scale;
                none++;
            }
        if (none > 0 && !said_sizes_) {
            said_sizes_ = true;
            CV_LOG_WARNING(NULL, "keybits: " << none << " of " << sized.size() << " keypoints are below "
                                             << KB_SMALL_PATCH / scale << " px, which is no size that can be described;"
                                             << " they are described with " << 31 / scale
                                             << " px. setScale takes the scale of their detector (kb_model_scale)");
        }
        return sized;
    }

    /* As the program does: when most regions, of BAG their octave 2, are wider than half of the image, they are hardly
     * meant. */
    void say_widths(const GrayImage &gray, const std::vector<cv::KeyPoint> &keypoints)
    {
        const float times = model_.info().spec->sampler == KB_SAMPLER_OCTAVES ? 4.f : 1.f;
        const float scale = getScale(), support = model_.info().spec->support;
        const float limit = times * static_cast<float>(std::min(gray.view()->width, gray.view()->height)) / 2;
        std::size_t wide = 0;
        for (std::size_t i = 0; i < keypoints.size(); i++)
            wide += scale * keypoints[i].size * support > limit;
        if (2 * wide <= keypoints.size() || said_widths_) return;
        said_widths_ = true;
        CV_LOG_WARNING(NULL, "keybits: " << wide << " of " << keypoints.size() << " regions are wider than " << limit
                                         << " px: is another scale meant (setScale, kb_model_scale)?");
    }

    static void remove_undescribed(const std::vector<uint8_t> &flags, std::vector<cv::KeyPoint> &keypoints,
                                   cv::Mat &rows)
    {
        int kept = 0;
        for (int i = 0; i < rows.rows; i++) {
            if (flags[static_cast<std::size_t>(i)] & (KB_KP_OUTSIDE | KB_KP_INVALID)) continue;
            if (kept < i) {
                keypoints[static_cast<std::size_t>(kept)] = keypoints[static_cast<std::size_t>(i)];
                rows.row(i).copyTo(rows.row(kept));
            }
            kept++;
        }
        keypoints.resize(static_cast<std::size_t>(kept));
        rows = rows.rowRange(0, kept);
    }

    /* What write and read keep: everything in kb_detect_options but its pointers. */
    template <class Visit> static void each_option(kb_detect_options &o, const Visit &visit)
    {
        visit("detector", o.detector);
        visit("max_keypoints", o.max_keypoints);
        visit("selection", o.selection);
        visit("levels", o.levels);
        visit("every_level", o.every_level);
        visit("level_factor", o.level_factor);
        visit("fast_threshold", o.fast_threshold);
        visit("fast_threshold_min", o.fast_threshold_min);
        visit("cell_size", o.cell_size);
        visit("orientation", o.orientation);
        visit("second_angle", o.second_angle);
        visit("whole_pixels", o.whole_pixels);
        visit("low_memory", o.low_memory);
        visit("layers", o.layers);
        visit("contrast_threshold", o.contrast_threshold);
        visit("edge_threshold", o.edge_threshold);
        visit("sigma", o.sigma);
        visit("no_upsampling", o.no_upsampling);
        visit("hessian_threshold", o.hessian_threshold);
        visit("mask_margin", o.mask_margin);
    }
    struct WriteOption {
        explicit WriteOption(cv::FileStorage &file) : file_(file) {}
        void operator()(const char *name, float &value) const { if (value != 0) file_ << name << value; }
        template <class Whole> void operator()(const char *name, Whole &value) const
        {
            if (value != Whole()) file_ << name << static_cast<int>(value);
        }
        cv::FileStorage &file_;
    };
    struct ReadOption {
        explicit ReadOption(const cv::FileNode &node) : node_(node) {}
        template <class Number> void operator()(const char *name, Number &value) const
        {
            if (!node_[name].empty()) value = static_cast<Number>(node_[name].real());
        }
        const cv::FileNode &node_;
    };

    enum { DEFAULT_KEYPOINTS = 2000 };

    Model model_;
    kb_detect_options detect_;
    float scale_;
    bool said_sizes_, said_widths_;
    Workspace workspace_;
};

/* --------------------------------------------------------------------------------------------------------- matcher */

/* Exact search: CV_8U rows by Hamming distance, CV_32F rows by L2. All-zero rows, which stand for "no descriptor",
 * never match. With cross_check only pairs that are each other's nearest remain, and k must be 1, as for cv::BFMatcher.
 * Without masks the library's kernels search; with masks, in radiusMatch, and for several neighbours of CV_32F rows it is
 * cv::batchDistance, which cv::BFMatcher uses too, over some queries at a time. */
class Matcher : public cv::DescriptorMatcher {
public:
    explicit Matcher(bool cross_check = false) : cross_check_(cross_check) {}
    static cv::Ptr<Matcher> create(bool cross_check = false) { return cv::Ptr<Matcher>(new Matcher(cross_check)); }

    bool isMaskSupported() const override { return true; }
    cv::Ptr<cv::DescriptorMatcher> clone(bool emptyTrainData = false) const override
    {
        cv::Ptr<Matcher> copy = create(cross_check_);
        if (emptyTrainData) return copy;
        for (std::size_t i = 0; i < trainDescCollection.size(); i++)
            copy->trainDescCollection.push_back(trainDescCollection[i].clone());
        for (std::size_t i = 0; i < utrainDescCollection.size(); i++)
            copy->utrainDescCollection.push_back(utrainDescCollection[i].clone());
        return copy;
    }

protected:
    typedef std::vector<std::vector<cv::DMatch> > Lists;

    /* None when all are empty, which is how OpenCV passes on that there is no mask. */
    static void collect_masks(cv::InputArrayOfArrays masks, std::vector<cv::Mat> &out)
    {
        if (!masks.empty()) masks.getMatVector(out);
        if (std::all_of(out.begin(), out.end(), [](const cv::Mat &mask) { return mask.empty(); })) out.clear();
    }

    /* Rows without gaps, checked. */
    static cv::Mat packed(const cv::Mat &rows)
    {
        if (rows.type() != CV_8UC1 && rows.type() != CV_32FC1)
            CV_Error(cv::Error::StsUnsupportedFormat,
                     "keybits: descriptors are CV_8U or CV_32F rows, not " + cv::typeToString(rows.type()));
        return rows.isContinuous() ? rows : rows.clone();
    }

    /* The train sets as they are searched: CPU matrices of the queries' type. */
    std::vector<cv::Mat> train_sets(const cv::Mat &query) const
    {
        std::vector<cv::Mat> sets;
        for (std::size_t i = 0; i < trainDescCollection.size(); i++)
            sets.push_back(trainDescCollection[i].empty() ? cv::Mat() : packed(trainDescCollection[i]));
        for (std::size_t i = 0; i < utrainDescCollection.size(); i++) {
            cv::Mat set;
            utrainDescCollection[i].copyTo(set);
            if (i >= sets.size()) sets.push_back(set.empty() ? cv::Mat() : packed(set));
        }
        for (std::size_t i = 0; i < sets.size(); i++)
            if (!sets[i].empty() && (sets[i].type() != query.type() || sets[i].cols != query.cols))
                CV_Error(cv::Error::StsUnmatchedSizes, "keybits: queries and train descriptors have rows of "
                                                       "different length or type");
        return sets;
    }

    static bool is_zero_row(const cv::Mat &rows, int i)
    {
        const uint8_t *row = rows.ptr(i);
        std::size_t bytes = static_cast<std::size_t>(rows.cols) * rows.elemSize();
        return std::all_of(row, row + bytes, [](uint8_t byte) { return byte == 0; });
    }

    /* The mask of a block of queries, without rows of zeros; empty when all pairs are allowed. */
    static cv::Mat block_mask(const cv::Mat &train, const cv::Mat &mask, const std::vector<int> &zero_rows,
                              const cv::Range &block)
    {
        cv::Mat part = mask.empty() ? cv::Mat() : mask.rowRange(block);
        if (zero_rows.empty()) return part;
        part = part.empty() ? cv::Mat(block.size(), train.rows, CV_8U, cv::Scalar(255)) : part.clone();
        for (std::size_t z = 0; z < zero_rows.size(); z++) part.col(zero_rows[z]).setTo(0);
        return part;
    }

    /* What cv::batchDistance finds for a block of queries: the k nearest, or with k = 0 all within max_distance. It
     * gives pairs that are not allowed the index -1, or with k = 0 the largest distance. */
    template <class Distance>
    static void search_block(const cv::Mat &query, const cv::Mat &train, const cv::Mat &mask, const cv::Range &block,
                             int image, int k, float max_distance, Lists &lists)
    {
        const int type = cv::DataType<Distance>::type, norm = type == CV_32S ? cv::NORM_HAMMING : cv::NORM_L2;
        cv::Mat distances, nearest;
        cv::batchDistance(query.rowRange(block), train, distances, type,
                          k > 0 ? cv::OutputArray(nearest) : cv::OutputArray(cv::noArray()), norm, k, mask);
        for (int i = block.start; i < block.end; i++) {
            if (is_zero_row(query, i)) continue;
            std::vector<cv::DMatch> &list = lists[static_cast<std::size_t>(i)];
            const int row = i - block.start;
            const Distance *distance = distances.ptr<Distance>(row);
            const int *found = k > 0 ? nearest.ptr<int>(row) : NULL;
            const uint8_t *allowed = k > 0 || mask.empty() ? NULL : mask.ptr(row);
            for (int c = 0; c < distances.cols; c++)
                if (static_cast<float>(distance[c]) <= max_distance && (!found || found[c] >= 0) &&
                    (!allowed || allowed[c]))
                    list.push_back(cv::DMatch(i, found ? found[c] : c, image, static_cast<float>(distance[c])));
        }
    }

    static void search_blocks(const cv::Mat &query, const cv::Mat &train, const cv::Mat &mask, int image, int k,
                              float max_distance, Lists &lists)
    {
        const int block = 256;
        std::vector<int> zero_rows;
        for (int j = 0; j < train.rows; j++)
            if (is_zero_row(train, j)) zero_rows.push_back(j);
        if (!mask.empty() && (mask.type() != CV_8UC1 || mask.rows != query.rows || mask.cols != train.rows))
            CV_Error(cv::Error::StsBadMask, "keybits: a mask is CV_8UC1, with a row per query and a column per train row");
        for (int start = 0; start < query.rows; start += block) {
            cv::Range part(start, std::min(start + block, query.rows));
            const cv::Mat allowed = block_mask(train, mask, zero_rows, part);
            (query.depth() == CV_8U ? search_block<int> : search_block<float>)(
                query, train, allowed, part, image, std::min(k, train.rows), max_distance, lists);
        }
    }

    /* The nearest of every query by the library, mutual ones only where asked. */
    void search_nearest(const cv::Mat &query, const cv::Mat &train, int image, Lists &lists) const
    {
        kb_parallel threads = parallel();
        kb_match_options options;
        KB_INIT(options);
        options.one_way = !cross_check_;
        options.parallel = &threads;
        std::vector<kb_match> found(static_cast<std::size_t>(query.rows));
        std::size_t count = 0;
        kb_features a = features_of(query), b = features_of(train);
        kb_error error;
        check(kb_match_features(&a, &b, &options, NULL, found.data(), &count, &error), "kb_match_features", error);
        for (std::size_t m = 0; m < count; m++)
            lists[static_cast<std::size_t>(found[m].a)].push_back(
                cv::DMatch(found[m].a, found[m].b, image, found[m].distance));
    }

    static void search_several(const cv::Mat &query, const cv::Mat &train, int image, int k, Lists &lists)
    {
        kb_parallel threads = parallel();
        kb_match_options options;
        KB_INIT(options);
        options.parallel = &threads;
        std::vector<kb_neighbour> near(static_cast<std::size_t>(query.rows) * static_cast<std::size_t>(k));
        kb_features a = features_of(query), b = features_of(train);
        kb_error error;
        check(kb_match_knn(&a, &b, k, &options, NULL, near.data(), &error), "kb_match_knn", error);
        for (int i = 0; i < query.rows; i++)
            for (int r = 0; r < k; r++) {
                const kb_neighbour &n = near[static_cast<std::size_t>(i) * static_cast<std::size_t>(k) +
                                             static_cast<std::size_t>(r)];
                if (n.index >= 0)
                    lists[static_cast<std::size_t>(i)].push_back(cv::DMatch(i, n.index, image, n.distance));
            }
    }

    /* With cross_check and a mask: the pairs that are each other's nearest allowed ones. */
    static void search_mutual(const cv::Mat &query, const cv::Mat &train, const cv::Mat &mask, int image, Lists &lists)
    {
        Lists there(lists.size()), back(static_cast<std::size_t>(train.rows));
        search_blocks(query, train, mask, image, 1, FLT_MAX, there);
        search_blocks(train, query, mask.t(), image, 1, FLT_MAX, back);
        for (std::size_t i = 0; i < there.size(); i++) {
            if (there[i].empty()) continue;
            const std::vector<cv::DMatch> &other = back[static_cast<std::size_t>(there[i][0].trainIdx)];
            if (!other.empty() && other[0].trainIdx == static_cast<int>(i)) lists[i].push_back(there[i][0]);
        }
    }

    static bool has_matches(const std::vector<cv::DMatch> &list) { return !list.empty(); }

    /* Nearest first; of equal ones the first, in the order they were found in. */
    static void sort_and_cut(Lists &lists, std::size_t most)
    {
        for (std::size_t i = 0; i < lists.size(); i++) {
            if (!std::is_sorted(lists[i].begin(), lists[i].end())) std::stable_sort(lists[i].begin(), lists[i].end());
            if (lists[i].size() > most) lists[i].resize(most);
        }
    }

    void knnMatchImpl(cv::InputArray queryDescriptors, Lists &matches, int k,
                      cv::InputArrayOfArrays masks = cv::noArray(), bool compactResult = false) override
    {
        if (cross_check_ && k != 1) CV_Error(cv::Error::StsBadArg, "keybits: cross_check finds one neighbour, k is not 1");
        cv::Mat query = packed(queryDescriptors.getMat());
        std::vector<cv::Mat> sets = train_sets(query), given;
        collect_masks(masks, given);
        matches.assign(static_cast<std::size_t>(query.rows), std::vector<cv::DMatch>());
        for (std::size_t s = 0; s < sets.size(); s++) {
            cv::Mat mask = s < given.size() ? given[s] : cv::Mat();
            if (sets[s].empty()) continue;
            if (!mask.empty() && cross_check_) search_mutual(query, sets[s], mask, static_cast<int>(s), matches);
            else if (!mask.empty() || (k > 1 && query.depth() != CV_8U))
                search_blocks(query, sets[s], mask, static_cast<int>(s), k, FLT_MAX, matches);
            else if (k == 1) search_nearest(query, sets[s], static_cast<int>(s), matches);
            else search_several(query, sets[s], static_cast<int>(s), k, matches);
        }
        sort_and_cut(matches, static_cast<std::size_t>(k));
        if (compactResult)
            matches.erase(std::stable_partition(matches.begin(), matches.end(), has_matches), matches.end());
    }

    void radiusMatchImpl(cv::InputArray queryDescriptors, Lists &matches, float maxDistance,
                         cv::InputArrayOfArrays masks = cv::noArray(), bool compactResult = false) override
    {
        if (cross_check_) CV_Error(cv::Error::StsBadArg, "keybits: cross_check finds one neighbour, not all within a radius");
        cv::Mat query = packed(queryDescriptors.getMat());
        std::vector<cv::Mat> sets = train_sets(query), given;
        collect_masks(masks, given);
        matches.assign(static_cast<std::size_t>(query.rows), std::vector<cv::DMatch>());
        for (std::size_t s = 0; s < sets.size(); s++)
            if (!sets[s].empty())
                search_blocks(query, sets[s], s < given.size() ? given[s] : cv::Mat(), static_cast<int>(s), 0,
                              maxDistance, matches);
        sort_and_cut(matches, SIZE_MAX);
        /* As cv::BFMatcher has it: the lists of queries without a match go to the end and stay. */
        if (compactResult) std::stable_partition(matches.begin(), matches.end(), has_matches);
    }

    bool cross_check_;
};

} // namespace kb
#endif
