// SPDX-License-Identifier: GPL-2.0
/*
 * Takes commands for nodes from the host while the load runs, and passes on what they read and
 * write.
 *
 * All the waiting for the host is one read of /dev/labin, during which the whole machine stands
 * still, its clock included. So the guest asks (frame A) when its timer says so, and goes on when
 * the host lets it (frame G, with the time until it asks again): the host decides how fast time
 * passes, and while no command runs it does not pass at all.
 *
 * A frame is a head and what it announces. From the host:
 *	N	a command: node, terminal, rows, columns, and its job (program.c)
 *	I E	bytes for its stdin; their end
 *	S W	a signal; rows and columns
 *	C	so many more bytes of output have room
 *	K	nobody is there for it any more
 *	G	nanoseconds until the next A
 * To the host:
 *	A	the time, and how many commands run
 *	O R	bytes of stdout (or of the terminal), of stderr
 *	T	so many bytes of I have been taken
 *	X	it has ended, with this status of wait()
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define HELLO		"\nlab serves\n"
#define READ_BYTES	16384		/* what /dev/labin gives at once */
#define FRAME_MAX	(1U << 20)
#define FIRST_CREDIT	65536		/* boltlab/up.py knows it as well */
#define NSTREAMS	2

struct head {
	char kind;
	char pad[3];
	uint32_t id, len;
};

enum what { TICK, STREAM_OUT, STREAM_ERR, INPUT, ENDED };

struct command {
	struct command *next;
	uint32_t id;
	pid_t pid;
	int pidfd, status;
	int stream[NSTREAMS];		/* stdout or the terminal, stderr; -1: has ended */
	bool heard[NSTREAMS];		/* by epoll */
	int in;
	bool in_waits, in_ends, terminal, ended;
	uint32_t ended_at;		/* tick */
	size_t credit;
	char *input;
	size_t input_len;
};

static struct command *commands;
static bool wanted;
static int epfd = -1, to_host = -1, from_host = -1, timer = -1;
static uint32_t ticks;

void serve_on(void)
{
	wanted = true;
}

bool serve_wanted(void)
{
	return wanted;
}

/* ---- the host ---- */

static void put(const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(to_host, (const char *)data + done, len - done);

		if (n < 0)
			die("the host does not listen: %s", strerror(errno));
		done += n;
	}
}

static void tell(char kind, uint32_t id, const void *data, uint32_t len)
{
	struct head head = { .kind = kind, .id = id, .len = len };

	put(&head, sizeof(head));
	put(data, len);
}

static void tell_number(char kind, uint32_t id, uint32_t value)
{
	tell(kind, id, &value, sizeof(value));
}

/* The host opens its end when it has heard HELLO, so at first there may be none. */
static size_t hear_some(char *buf, size_t size)
{
	static bool heard;
	ssize_t n;

	do {
		n = read(from_host, buf, size);
	} while (!n && !heard);
	if (n <= 0)
		die("the host has gone");
	heard = true;
	return n;
}

/* Exactly so many bytes. */
static void hear(void *to, size_t len)
{
	static char buf[READ_BYTES];
	static size_t have, pos;

	while (len) {
		size_t part;

		if (pos == have) {
			have = hear_some(buf, sizeof(buf));
			pos = 0;
		}
		part = have - pos < len ? have - pos : len;
		memcpy(to, buf + pos, part);
		to = (char *)to + part;
		pos += part;
		len -= part;
	}
}

/* ---- epoll ---- */

static void watch(int op, int fd, uint32_t events, uint32_t id, enum what what)
{
	struct epoll_event ev = { .events = events };

	ev.data.u64 = EPOLL_SERVE | (uint64_t)id << 3 | what;
	if (epoll_ctl(epfd, op, fd, &ev))
		die("command %u: epoll: %s", id, strerror(errno));
}

static void ignore(int fd)
{
	if (epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL))
		die("epoll: %s", strerror(errno));
}

static void never_blocks(int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		die("fcntl: %s", strerror(errno));
}

/* ---- what a command prints ---- */

static void end_stream(struct command *c, int i)
{
	if (c->stream[i] < 0)
		return;
	if (c->heard[i])
		ignore(c->stream[i]);
	close(c->stream[i]);
	c->stream[i] = -1;
}

/* While there is room for it at the host; a stream that has none is not listened to. */
static void listen_to(struct command *c, int i)
{
	if (c->stream[i] < 0 || c->heard[i] == !!c->credit)
		return;
	c->heard[i] = c->credit;
	if (c->credit)
		watch(EPOLL_CTL_ADD, c->stream[i], EPOLLIN, c->id, i ? STREAM_ERR : STREAM_OUT);
	else
		ignore(c->stream[i]);
}

static void pass_on(struct command *c, int i)
{
	char buf[READ_BYTES];

	while (c->stream[i] >= 0 && c->credit) {
		size_t want = c->credit < sizeof(buf) ? c->credit : sizeof(buf);
		ssize_t n = read(c->stream[i], buf, want);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {		/* a terminal that nobody has any more says EIO */
			end_stream(c, i);
			return;
		}
		c->credit -= n;
		tell(i ? 'R' : 'O', c->id, buf, n);
	}
	for (int j = 0; j < NSTREAMS; j++)
		listen_to(c, j);
}

/* ---- what it reads ---- */

static void end_input(struct command *c)
{
	if (c->in < 0)
		return;
	if (c->in_waits)
		ignore(c->in);
	close(c->in);
	c->in = -1;
	c->in_waits = false;
}

static void feed(struct command *c)
{
	size_t done = 0;
	bool waits = false;

	while (c->in >= 0 && done < c->input_len && !waits) {
		ssize_t n = write(c->in, c->input + done, c->input_len - done);

		if (n > 0)
			done += n;
		else if (errno == EAGAIN)
			waits = true;
		else if (errno != EINTR)
			end_input(c);
	}
	if (c->in < 0)
		done = c->input_len;	/* nobody reads it */
	if (done)
		tell_number('T', c->id, done);
	memmove(c->input, c->input + done, c->input_len - done);
	c->input_len -= done;
	if (c->in >= 0 && waits != c->in_waits) {
		c->in_waits = waits;
		if (waits)
			watch(EPOLL_CTL_ADD, c->in, EPOLLOUT, c->id, INPUT);
		else
			ignore(c->in);
	}
	if (c->in_ends && !c->input_len && !c->terminal)
		end_input(c);
}

static void add_input(struct command *c, const void *data, size_t len)
{
	c->input = realloc(c->input, c->input_len + len + 1);
	if (!c->input)
		die("out of memory");
	memcpy(c->input + c->input_len, data, len);
	c->input_len += len;
	feed(c);
}

/* ---- its life ---- */

static struct command *find(uint32_t id)
{
	struct command *c = commands;

	while (c && c->id != id)
		c = c->next;
	return c;
}

static void forget(struct command *c)
{
	struct command **at = &commands;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (int i = 0; i < NSTREAMS; i++)
		end_stream(c, i);
	end_input(c);
	close(c->pidfd);
	program_command_ended(c->id);
	free(c->input);
	free(c);
}

/*
 * When all that it printed has gone. What others may still print, who have its descriptors, is
 * not waited for; a terminal passes on what was printed a little later, but within this nanosecond.
 */
static void finish(struct command *c)
{
	if (!c->ended)
		return;
	for (int i = 0; i < NSTREAMS; i++) {
		pass_on(c, i);
		if (c->stream[i] >= 0 && !c->credit)
			return;
	}
	if (c->terminal && c->stream[0] >= 0 && c->ended_at == ticks)
		return;
	tell_number('X', c->id, c->status);
	forget(c);
}

static void has_ended(struct command *c)
{
	if (c->ended || waitpid(c->pid, &c->status, WNOHANG) != c->pid)
		return;
	c->ended = true;
	c->ended_at = ticks;
	ignore(c->pidfd);
	finish(c);
}

static void set_size(int fd, unsigned int rows, unsigned int columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	ioctl(fd, TIOCSWINSZ, &size);
}

/* The command's ends; ours are in c. */
static void open_terminal(struct command *c, int fds[3])
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlock = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock))
		die("/dev/ptmx: %s", strerror(errno));
	fds[0] = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	c->in = fcntl(master, F_DUPFD_CLOEXEC, 0);
	if (fds[0] < 0 || c->in < 0)
		die("terminal: %s", strerror(errno));
	fds[1] = fds[0];
	fds[2] = fds[0];
	c->stream[0] = master;
	c->stream[1] = -1;
}

static void open_pipes(struct command *c, int fds[3])
{
	int p[3][2];

	for (int i = 0; i < 3; i++)
		if (pipe2(p[i], O_CLOEXEC))
			die("pipe: %s", strerror(errno));
	fds[0] = p[0][0];
	c->in = p[0][1];
	for (int i = 0; i < NSTREAMS; i++) {
		fds[i + 1] = p[i + 1][1];
		c->stream[i] = p[i + 1][0];
	}
}

static const char *word(char **pos, const char *end)
{
	const char *w = *pos;

	if (w >= end)
		die("a command is cut short");
	*pos += strlen(w) + 1;
	return w;
}

static void start(uint32_t id, char *words, size_t len)
{
	const char *end = words + len;
	int ns = net_find_ns(word(&words, end));
	struct command *c = xcalloc(1, sizeof(*c));
	unsigned int rows, columns;
	int fds[3];

	c->id = id;
	c->terminal = atoi(word(&words, end));
	c->credit = FIRST_CREDIT;
	rows = atoi(word(&words, end));
	columns = atoi(word(&words, end));
	if (c->terminal) {
		open_terminal(c, fds);
		set_size(c->in, rows, columns);
	} else {
		open_pipes(c, fds);
	}
	c->pid = program_command(id, ns, words, end - words, fds, c->terminal);
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		die("command %u: %s", id, strerror(errno));
	for (int i = 0; i < (c->terminal ? 1 : 3); i++)
		close(fds[i]);
	c->next = commands;
	commands = c;
	never_blocks(c->in);
	for (int i = 0; i < NSTREAMS; i++) {
		if (c->stream[i] >= 0)
			never_blocks(c->stream[i]);
		listen_to(c, i);
	}
	watch(EPOLL_CTL_ADD, c->pidfd, EPOLLIN, id, ENDED);
}

static uint32_t number(const char *data, size_t len, size_t i)
{
	uint32_t value = 0;

	if ((i + 1) * sizeof(value) <= len)
		memcpy(&value, data + i * sizeof(value), sizeof(value));
	return value;
}

static void carry_out(const struct head *head, char *data)
{
	struct command *c = find(head->id);

	if (head->kind == 'N') {
		start(head->id, data, head->len);
		return;
	}
	if (!c)
		return;			/* it has ended, which the host does not know yet */
	switch (head->kind) {
	case 'I':
		add_input(c, data, head->len);
		break;
	case 'E':
		c->in_ends = true;
		feed(c);
		break;
	case 'S':
		if (!c->ended)
			kill(-c->pid, number(data, head->len, 0));
		break;
	case 'W':
		if (c->terminal && c->in >= 0)
			set_size(c->in, number(data, head->len, 0), number(data, head->len, 1));
		break;
	case 'C':
		c->credit += number(data, head->len, 0);
		pass_on(c, 0);
		pass_on(c, 1);
		finish(c);
		break;
	case 'K':
		program_command_kill(c->id);
		for (int i = 0; i < NSTREAMS; i++)
			end_stream(c, i);
		break;
	}
}

/* ---- asking ---- */

static void arm(uint64_t ns)
{
	struct itimerspec its = { .it_value = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC } };

	if (timerfd_settime(timer, 0, &its, NULL))
		die("timerfd: %s", strerror(errno));
}

static uint32_t running(void)
{
	uint32_t n = 0;

	for (const struct command *c = commands; c; c = c->next)
		n++;
	return n;
}

static void ask(void)
{
	struct {
		uint64_t now, running;
	} state = { now_ns(), running() };
	uint64_t pause = 0;
	struct head head;
	char *data;

	tell('A', 0, &state, sizeof(state));
	do {
		hear(&head, sizeof(head));
		if (head.len > FRAME_MAX)
			die("the host sent a frame of %u bytes", head.len);
		data = xcalloc(1, head.len + 1);
		hear(data, head.len);
		if (head.kind == 'G' && head.len == sizeof(pause))
			memcpy(&pause, data, sizeof(pause));
		else
			carry_out(&head, data);
		free(data);
	} while (head.kind != 'G');
	arm(pause);
}

static void tick(void)
{
	struct command *c, *next;
	uint64_t count;

	if (read(timer, &count, sizeof(count)) != sizeof(count))
		return;
	ticks++;
	for (c = commands; c; c = next) {
		next = c->next;
		finish(c);
	}
	if (commands)
		ask();
}

void serve_begin(int epoll)
{
	epfd = epoll;
	signal(SIGPIPE, SIG_IGN);
	from_host = open("/dev/labin", O_RDONLY | O_CLOEXEC);
	to_host = fcntl(1, F_DUPFD_CLOEXEC, 3);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	/* what others print to stdout from here on is no frame */
	if (from_host < 0 || to_host < 0 || timer < 0 || dup2(2, 1) < 0)
		die("cannot serve: %s", strerror(errno));
	watch(EPOLL_CTL_ADD, timer, EPOLLIN, 0, TICK);
	put(HELLO, strlen(HELLO));
	ask();
}

void serve_ready(uint64_t what)
{
	struct command *c;

	what &= ~EPOLL_SERVE;
	if ((what & 7) == TICK) {
		tick();
		return;
	}
	c = find(what >> 3);
	if (!c)
		return;			/* forgotten since epoll said so */
	switch (what & 7) {
	case STREAM_OUT:
	case STREAM_ERR:
		pass_on(c, (what & 7) - STREAM_OUT);
		finish(c);
		break;
	case INPUT:
		feed(c);
		break;
	case ENDED:
		has_ended(c);
		break;
	}
}

/* Time stands still as soon as the last command has ended. */
void serve_rest(void)
{
	while (!commands)
		ask();
}
