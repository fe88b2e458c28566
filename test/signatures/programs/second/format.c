// Both bugs crash in the C library's formatting, called by log_message: one passes a
// number as a string, one a name that was freed with its page.
#include "../noise.h"
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

static char line[256];

static void log_message(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	noise_rounds++;
}

struct request { long id; const char *path; };

static void log_request(const struct request *r)
{
	log_message("request %ld: %s", r->id, (const char *)r->id);
	noise_rounds++;
}

static int handle_request(struct request *r)
{
	log_request(r);
	return r->path[0] == '/';
}

static void serve_one(void)
{
	struct request r = {4711, "/"};
	noise_rounds += handle_request(&r);
}

struct job { const char *name; struct job *next; };

static void finish_job(struct job *j)
{
	log_message("job %s is done", j->name);
	j->next = NULL;
}

static void drain(struct job *queue)
{
	while (queue) {
		struct job *next = queue->next;
		finish_job(queue);
		queue = next;
	}
	noise_rounds++;
}

static void shut_down(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct job last = {page, NULL}, first = {"first", &last};
	munmap(page, 4096);
	drain(&first);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? serve_one : shut_down);
	return argc;
}
