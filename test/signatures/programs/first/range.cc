// Both bugs throw in std::vector::at, which nothing catches: a parser reads past the last
// token, a table is asked for a column that it does not have.
#include "../noise.h"
#include <functional>
#include <string>
#include <vector>

namespace syntax {

struct Token { int kind; std::string text; };

class Parser {
public:
	explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
	const Token &peek(int ahead) const { return tokens_.at(at_ + ahead); }
	int statement();

private:
	int expression(int level);
	std::vector<Token> tokens_;
	int at_ = 0;
};

int Parser::expression(int level)
{
	if (peek(0).kind == '(') {
		at_++;
		return expression(level + 1) + 1;
	}
	while (peek(1).kind != ';')
		at_++;
	return at_;
}

int Parser::statement() { return expression(0) + static_cast<int>(tokens_.size()); }

} // namespace syntax

namespace {

void compile()
{
	std::vector<syntax::Token> tokens;
	for (int i = 0; i < 3; i++)
		tokens.push_back({'(', "("});
	tokens.push_back({'x', "x"});
	syntax::Parser parser(tokens);
	noise_rounds += parser.statement();
}

template <typename T> class Table {
public:
	Table(int rows, int columns) : columns_(columns), cells_(rows * columns) {}
	T &cell(int row, int column) { return cells_.at(row * columns_ + column); }

private:
	int columns_;
	std::vector<T> cells_;
};

template <typename T> T total(Table<T> &table, int rows, const std::function<int(int)> &column)
{
	T sum = 0;
	for (int row = 0; row < rows; row++)
		sum += table.cell(row, column(row));
	return sum;
}

void print_totals()
{
	Table<double> table(3, 4);
	int shift = noise_rounds >= 0 ? 2 : 0;
	noise_rounds += static_cast<int>(total<double>(table, 3, [shift](int row) { return row + shift; }));
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? compile : print_totals);
	return argc;
}
