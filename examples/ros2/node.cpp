/* SPDX-License-Identifier: Apache-2.0 */
// keybits_node: subscribes to `image`, publishes `features` and `matches` as point clouds with the header of the image.
// A point of `features` has x, y, size, angle, response (float32) and the descriptor (uint8, as many as the model has
// bytes); a point of `matches` has x, y in this frame, last_x, last_y in the frame before, and the distance.
// Parameters: model (bag256), max_keypoints (1000).
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <sensor_msgs/msg/point_field.hpp>

#include "frame_matcher.hpp"

using sensor_msgs::msg::Image;
using sensor_msgs::msg::PointCloud2;
using sensor_msgs::msg::PointField;

namespace {

// A cloud of `count` points with these fields of float32, then one of `bytes` bytes.
PointCloud2 make_cloud(const std_msgs::msg::Header &header, const std::vector<std::string> &names, std::size_t count,
                       std::size_t bytes)
{
    PointCloud2 cloud;
    cloud.header = header;
    for (const std::string &name : names) {
        PointField field;
        field.name = name;
        field.offset = cloud.point_step;
        field.datatype = PointField::FLOAT32;
        field.count = 1;
        cloud.fields.push_back(field);
        cloud.point_step += 4;
    }
    if (bytes > 0) {
        PointField field;
        field.name = "descriptor";
        field.offset = cloud.point_step;
        field.datatype = PointField::UINT8;
        field.count = static_cast<uint32_t>(bytes);
        cloud.fields.push_back(field);
        cloud.point_step += static_cast<uint32_t>(bytes);
    }
    cloud.height = 1;
    cloud.width = static_cast<uint32_t>(count);
    cloud.row_step = cloud.width * cloud.point_step;
    cloud.is_dense = true;
    cloud.data.resize(cloud.row_step);
    return cloud;
}

// The pixels of a message as keybits takes them: gray or BGR of 8 bits, gray of 16. Empty for another encoding.
cv::Mat pixels_of(const Image &message)
{
    int type = -1;
    if (message.encoding == "mono8" || message.encoding == "8UC1") type = CV_8UC1;
    if (message.encoding == "mono16" || message.encoding == "16UC1") type = CV_16UC1;
    if (message.encoding == "bgr8" || message.encoding == "rgb8") type = CV_8UC3;
    if (type < 0 || message.data.size() < std::size_t(message.step) * message.height) return cv::Mat();
    const cv::Mat view(int(message.height), int(message.width), type, const_cast<uint8_t *>(message.data.data()),
                       message.step);
    if (message.encoding != "rgb8") return view;
    cv::Mat gray;
    cv::cvtColor(view, gray, cv::COLOR_RGB2GRAY);
    return gray;
}

class Node : public rclcpp::Node {
public:
    Node()
        : rclcpp::Node("keybits"),
          frames_(declare_parameter<std::string>("model", "bag256"),
                  static_cast<int>(declare_parameter<int64_t>("max_keypoints", 1000)))
    {
        features_ = create_publisher<PointCloud2>("features", rclcpp::SensorDataQoS());
        matches_ = create_publisher<PointCloud2>("matches", rclcpp::SensorDataQoS());
        images_ = create_subscription<Image>("image", rclcpp::SensorDataQoS(),
                                             std::bind(&Node::take, this, std::placeholders::_1));
    }

private:
    void take(const Image::ConstSharedPtr &message)
    {
        const cv::Mat pixels = pixels_of(*message);
        if (pixels.empty()) {
            RCLCPP_WARN_ONCE(get_logger(), "images are mono8, mono16, bgr8 or rgb8, not %s", message->encoding.c_str());
            return;
        }
        frames_.add(pixels);
        publish_features(message->header);
        publish_matches(message->header);
    }

    void publish_features(const std_msgs::msg::Header &header)
    {
        const keybits_ros::Frame &frame = frames_.now();
        const std::size_t bytes = frame.rows.empty() ? 0 : frame.rows.cols * frame.rows.elemSize();
        PointCloud2 cloud = make_cloud(header, {"x", "y", "size", "angle", "response"}, frame.keypoints.size(), bytes);
        for (std::size_t i = 0; i < frame.keypoints.size(); i++) {
            const cv::KeyPoint &k = frame.keypoints[i];
            const float values[5] = {k.pt.x, k.pt.y, k.size, k.angle, k.response};
            uint8_t *point = cloud.data.data() + i * cloud.point_step;
            std::memcpy(point, values, sizeof values);
            std::memcpy(point + sizeof values, frame.rows.ptr(static_cast<int>(i)), bytes);
        }
        features_->publish(cloud);
    }

    void publish_matches(const std_msgs::msg::Header &header)
    {
        PointCloud2 cloud = make_cloud(header, {"x", "y", "last_x", "last_y", "distance"}, frames_.matches().size(), 0);
        uint8_t *point = cloud.data.data();
        for (const cv::DMatch &match : frames_.matches()) {
            const cv::Point2f &now = frames_.now().keypoints[static_cast<std::size_t>(match.trainIdx)].pt;
            const cv::Point2f &last = frames_.before().keypoints[static_cast<std::size_t>(match.queryIdx)].pt;
            const float values[5] = {now.x, now.y, last.x, last.y, match.distance};
            std::memcpy(point, values, sizeof values);
            point += cloud.point_step;
        }
        matches_->publish(cloud);
    }

    keybits_ros::FrameMatcher frames_;
    rclcpp::Publisher<PointCloud2>::SharedPtr features_, matches_;
    rclcpp::Subscription<Image>::SharedPtr images_;
};

} // namespace

int main(int argc, char **argv)
{
    rclcpp::init(argc, argv);
    rclcpp::spin(std::make_shared<Node>());
    rclcpp::shutdown();
    return 0;
}
