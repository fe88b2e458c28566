// Both bugs hash a name that is not there: one variable of the environment is not set, one
// record was read without its last field.
#include "../noise.h"
#include <string.h>

static unsigned hash_string(const char *s)
{
	unsigned h = 5381;
	for (; *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

struct map { const char *names[64]; int values[64]; };

static int map_get(const struct map *m, const char *name)
{
	unsigned at = hash_string(name) % 64;
	return m->names[at] && strcmp(m->names[at], name) == 0 ? m->values[at] : 0;
}

static struct map locales;

static int locale_number(void)
{
	return map_get(&locales, getenv("LANG"));
}

static void format_date(char *out, int day)
{
	out[0] = '0' + day % 10 + locale_number();
}

static void print_calendar(void)
{
	char line[80];
	locales.names[noise_rounds % 64] = "C";
	for (int day = 1; day < 8; day++)
		format_date(line + day, day);
	noise_rounds += line[1];
}

struct record { char *fields[3]; };

static struct record parse_record(char *line)
{
	struct record r = {{0}};
	int n = 0;
	for (char *at = strtok(line, ","); at && n < 3; at = strtok(NULL, ","))
		r.fields[n++] = at;
	return r;
}

static int price_of(const struct map *prices, const struct record *r)
{
	return map_get(prices, r->fields[2]);
}

static int sum_orders(char lines[][16], int n)
{
	static struct map prices;
	int sum = 0;
	prices.names[noise_rounds % 64] = "nut";
	for (int i = 0; i < n; i++) {
		struct record r = parse_record(lines[i]);
		sum += price_of(&prices, &r);
	}
	return sum;
}

static void import_orders(void)
{
	char lines[][16] = {"1,ada,nut", "2,bob"};
	noise_rounds += sum_orders(lines, 2);
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? print_calendar : import_orders);
	return argc;
}
