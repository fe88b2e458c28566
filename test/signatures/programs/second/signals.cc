// Both bugs call an empty std::function in Signal::emit: one listener was never set, one
// was moved away.
#include "../noise.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace events {

template <typename... Args> class Signal {
public:
	using Slot = std::function<void(Args...)>;
	void connect(Slot slot) { slots_.push_back(std::move(slot)); }
	Slot take(int n) { return std::move(slots_[n]); }
	void emit(Args... args)
	{
		for (auto &slot : slots_)
			slot(args...);
	}

private:
	std::vector<Slot> slots_;
};

} // namespace events

namespace {

class Button {
public:
	virtual ~Button() = default;
	virtual void click() { clicked.emit(1); }
	events::Signal<int> clicked;
};

class Toggle : public Button {
public:
	void click() override
	{
		on_ = !on_;
		Button::click();
		noise_rounds += on_;
	}

private:
	bool on_ = false;
};

void press(Button &b)
{
	b.click();
	noise_rounds++;
}

void open_dialog()
{
	std::unique_ptr<Button> b = std::make_unique<Toggle>();
	b->clicked.connect([](int n) { noise_rounds += n; });
	b->clicked.connect(nullptr);
	press(*b);
	noise_rounds++;
}

struct Connection {
	events::Signal<int> closed;
	void close()
	{
		closed.emit(0);
		noise_rounds++;
	}
};

class Pool {
public:
	explicit Pool(int n) : connections_(n)
	{
		for (auto &c : connections_)
			c.closed.connect([this](int) { left_++; });
	}
	void hand_over(int n) { noise_rounds += static_cast<bool>(connections_[n].closed.take(0)); }
	void close_all()
	{
		for (auto &c : connections_)
			c.close();
	}

private:
	std::vector<Connection> connections_;
	int left_ = 0;
};

void restart()
{
	Pool pool(3);
	pool.hand_over(1);
	auto closing = [&pool] { pool.close_all(); };
	closing();
	noise_rounds++;
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? open_dialog : restart);
	return argc;
}
