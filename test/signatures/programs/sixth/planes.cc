// Both bugs make a plane of a negative size in Plane::reset: one crop lies outside of its
// picture, one page is narrower than its margins. Nobody catches what std::vector throws.
#include "../noise.h"
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace image {

struct Rect {
	int x, y, width, height;

	Rect within(const Rect &o) const
	{
		int left = std::max(x, o.x), top = std::max(y, o.y);
		int right = std::min(x + width, o.x + o.width);
		int bottom = std::min(y + height, o.y + o.height);
		return {left, top, right - left, bottom - top};
	}
};

template <typename T> class Plane {
public:
	Plane() = default;
	Plane(int width, int height) { reset(width, height); }

	void reset(int width, int height)
	{
		width_ = width;
		height_ = height;
		cells_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), T{});
	}
	T &at(int x, int y) { return cells_[static_cast<std::size_t>(y) * width_ + x]; }
	const T &at(int x, int y) const { return cells_[static_cast<std::size_t>(y) * width_ + x]; }
	Rect bounds() const { return {0, 0, width_, height_}; }

private:
	int width_ = 0, height_ = 0;
	std::vector<T> cells_;
};

using Gray = Plane<float>;

} // namespace image

namespace {

using image::Gray;
using image::Rect;

class Filter {
public:
	virtual ~Filter() = default;
	virtual Gray apply(const Gray &from) const = 0;
};

class Invert : public Filter {
public:
	Gray apply(const Gray &from) const override
	{
		Gray to = from;
		Rect r = to.bounds();
		for (int y = 0; y < r.height; y++)
			for (int x = 0; x < r.width; x++)
				to.at(x, y) = 1 - to.at(x, y);
		return to;
	}
};

class Crop : public Filter {
public:
	explicit Crop(Rect area) : area_(area) {}
	Gray apply(const Gray &from) const override { return copy(from, area_.within(from.bounds())); }

private:
	static Gray copy(const Gray &from, const Rect &r)
	{
		Gray to;
		to.reset(r.width, r.height);
		for (int y = 0; y < r.height; y++)
			for (int x = 0; x < r.width; x++)
				to.at(x, y) = from.at(r.x + x, r.y + y);
		return to;
	}
	Rect area_;
};

class Pipeline {
public:
	template <typename F, typename... Args> Pipeline &then(Args &&...args)
	{
		filters_.push_back(std::make_unique<F>(std::forward<Args>(args)...));
		return *this;
	}
	Gray run(Gray g) const
	{
		for (const auto &f : filters_)
			g = f->apply(g);
		return g;
	}

private:
	std::vector<std::unique_ptr<Filter>> filters_;
};

void make_thumbnail()
{
	int step = 12 + noise_rounds % 2;
	Pipeline p;
	p.then<Invert>().then<Crop>(Rect{0, 0, step, 8}).then<Crop>(Rect{step * 2, 2, step, 4});
	noise_rounds += p.run(Gray(40, 30)).bounds().width;
}

struct Paper {
	int width, height, margin;
	int columns() const { return width - 2 * margin; }
	int lines() const { return height - 2 * margin; }
};

class Sheet {
public:
	explicit Sheet(const Paper &p) : paper_(p) { body_.reset(p.columns(), p.lines()); }
	void draw(const std::string &text)
	{
		int used = std::min<int>(text.size(), paper_.columns());
		for (int i = 0; i < used; i++)
			body_.at(i, 0) = text[i] / 256.0f;
	}
	float ink() const { return body_.at(0, 0); }

private:
	Paper paper_;
	Gray body_;
};

class Printer {
public:
	void add(Paper p) { trays_.push_back(p); }
	float print(const std::string &text) const
	{
		float ink = 0;
		std::for_each(trays_.begin(), trays_.end(), [&](const Paper &p) { ink += page(p, text); });
		return ink;
	}

private:
	static float page(const Paper &p, const std::string &text)
	{
		Sheet s(p);
		s.draw(text);
		return s.ink();
	}
	std::vector<Paper> trays_;
};

void print_labels()
{
	Printer p;
	int margin = 10 + noise_rounds % 2;
	p.add({60, 80, margin});
	p.add({18, 90, margin});
	noise_rounds += static_cast<int>(p.print("label"));
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? make_thumbnail : print_labels);
	return argc;
}
