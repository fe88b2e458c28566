// Both bugs crash in memcpy, called by buffer_append: one by a length of an input that
// nobody checked, one by a buffer that was never made.
#include "../noise.h"
#include <string.h>

struct buffer { char *data; size_t used, size; };

static void buffer_append(struct buffer *b, const char *data, size_t n)
{
	memcpy(b->data + b->used, data, n);
	b->used += n;
}

static struct buffer message;

static void add_field(struct buffer *b, const char *text, size_t n)
{
	if (text)
		buffer_append(b, text, n);
	b->used++;
}

static void parse_header(const char *input)
{
	size_t length = *(const unsigned *)input;
	add_field(&message, input + 4, length);
	message.used++;
}

static void receive(void)
{
	message.data = malloc(message.size = 64);
	parse_header("\xff\xff\xff\x7fhello");
	noise_rounds++;
}

static struct buffer cache[4];

static void store_entry(int slot, const char *value)
{
	buffer_append(&cache[slot], value, strlen(value));
	cache[slot].used++;
}

static void refresh_cache(const char *const *values, int n)
{
	for (int i = 0; i < n; i++)
		store_entry(i, values[i]);
	noise_rounds++;
}

static void on_timer(void)
{
	static const char *const values[] = {"a value that is long enough to be copied by a call", "b"};
	refresh_cache(values, 2);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? receive : on_timer);
	return argc;
}
