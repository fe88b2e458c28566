// Both bugs follow the parent of a widget that is closed in Widget::root: one child outlives
// its dialog, one list is emptied while its rows are compared.
#include "../noise.h"
#include <algorithm>
#include <memory>
#include <vector>

namespace ui {

static volatile unsigned long closed = 0x10; // where no widget is

class Widget {
public:
	explicit Widget(Widget *parent) : parent_(parent) {}
	virtual ~Widget() = default;
	void close() { parent_ = reinterpret_cast<Widget *>(closed); }
	const Widget *root() const
	{
		const Widget *w = this;
		while (w->parent_ != nullptr)
			w = w->parent_;
		return w;
	}
	virtual int depth() const { return root() == this ? 0 : 1 + parent_->depth(); }

protected:
	Widget *parent_;
};

class Label : public Widget {
public:
	using Widget::Widget;
	int depth() const override { return Widget::depth() + 1; }
};

} // namespace ui

namespace {

int measure(const std::vector<ui::Widget *> &widgets)
{
	int deepest = 0;
	for (const ui::Widget *w : widgets)
		deepest = std::max(deepest, w->depth());
	return deepest;
}

void repaint(const std::vector<ui::Widget *> &dirty)
{
	noise_rounds += measure(dirty);
}

void close_dialog()
{
	auto dialog = std::make_unique<ui::Widget>(nullptr);
	ui::Label label(dialog.get());
	dialog->close();
	repaint({&label});
}

class Row {
public:
	explicit Row(ui::Widget *list) : label_(list) {}
	const ui::Widget *theme() const { return label_.root(); }

private:
	ui::Label label_;
};

bool same_theme(const Row &a, const Row &b) { return a.theme() == b.theme(); }

int count_themes(const std::vector<Row> &rows)
{
	int n = 1;
	for (std::size_t i = 1; i < rows.size(); i++)
		n += !same_theme(rows[i - 1], rows[i]);
	return n;
}

template <typename F> void refresh(ui::Widget &list, F changed)
{
	list.close();
	changed();
}

void scroll_list()
{
	ui::Widget list(nullptr);
	std::vector<Row> rows(3, Row(&list));
	refresh(list, [&rows] { noise_rounds += count_themes(rows); });
	noise_rounds += static_cast<int>(rows.size());
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? close_dialog : scroll_list);
	return argc;
}
