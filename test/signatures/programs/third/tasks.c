// Both bugs call what is no function in run_task: one task was never given its function,
// one was overwritten by the task that ran before.
#include "../noise.h"
#include <string.h>

struct task { void (*run)(struct task *); struct task *next; char note[16]; };

static void run_task(struct task *t)
{
	t->run(t);
	noise_rounds++;
}

static void say(struct task *t) { noise_rounds += t->note[0]; }

static void run_all(struct task *first)
{
	for (struct task *t = first; t; t = t->next)
		run_task(t);
}

static struct task *new_task(struct task *next, const char *note)
{
	struct task *t = calloc(1, sizeof *t);
	t->next = next;
	strcpy(t->note, note);
	return t;
}

static struct task *plan_backup(void)
{
	struct task *copy = new_task(NULL, "copy");
	struct task *check = new_task(copy, "check");
	check->run = say;
	return check;
}

static void run_backup(void)
{
	run_all(plan_backup());
	noise_rounds++;
}

struct pipeline { struct task read, write; };

static void read_header(struct task *t)
{
	memset(t->note, 0x41, sizeof(struct pipeline) - 2 * sizeof(void *) - 8);
}

static void run_pipeline(struct pipeline *p)
{
	run_task(&p->read);
	run_task(&p->write);
}

static void convert(int n)
{
	struct pipeline *p = calloc(1, sizeof *p);
	p->read.run = read_header;
	p->write.run = say;
	for (int i = 0; i < n; i++)
		run_pipeline(p);
}

static void convert_files(void)
{
	convert(3);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? run_backup : convert_files);
	return argc;
}
