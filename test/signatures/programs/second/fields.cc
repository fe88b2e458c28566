// Both bugs throw in std::string::substr, called by Reader::take: one header is cut off,
// one length is that of another field. A thread or main lets the exception pass.
#include "../noise.h"
#include <map>
#include <stdexcept>
#include <string>

namespace wire {

class Reader {
public:
	explicit Reader(std::string text) : text_(std::move(text)) {}
	std::string take(std::size_t n)
	{
		std::string part = text_.substr(at_, n);
		at_ += n;
		return part;
	}
	bool done() const { return at_ == text_.size(); }

private:
	std::string text_;
	std::size_t at_ = 0;
};

} // namespace wire

namespace {

struct Header {
	std::string kind, from, to;
	void read(wire::Reader &r)
	{
		kind = r.take(4);
		from = r.take(8);
		to = r.take(8);
	}
};

void receive_mail(const std::string &text)
{
	wire::Reader reader(text);
	Header header;
	header.read(reader);
	noise_rounds += static_cast<int>(header.to.size());
}

void on_mail()
{
	receive_mail("MAILab");
	noise_rounds++;
}

template <typename Map> void parse_pairs(wire::Reader &r, Map &into)
{
	while (!r.done()) {
		std::string key = r.take(2);
		into[key] = r.take(key[0] - '0');
	}
}

class Settings {
public:
	void load(const std::string &text)
	{
		wire::Reader reader(text);
		parse_pairs(reader, values_);
		noise_rounds += static_cast<int>(values_.size());
	}

private:
	std::map<std::string, std::string> values_;
};

void on_reload()
{
	Settings settings;
	settings.load("3axxx9by");
	noise_rounds++;
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? on_mail : on_reload);
	return argc;
}
