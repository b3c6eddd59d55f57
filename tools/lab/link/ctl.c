// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/lablink: commands in, results out. /proc/lablink_samples: samples out,
 * /proc/lablink_capture: packets, /proc/lablink_follow: what connections went through.
 *
 * The files are those of every namespace (links cross them), so only root of the
 * initial user namespace may write. Commands are serialized by RTNL, which
 * most of them need anyway.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "lablink.h"

#define LAB_WRITE_MAX	BIT(20)
#define LAB_ARGS_MAX	10

#define LAB_RATE_MIN	1000ULL			/* 1 kbit/s: 0.5 s for 64 KB */
#define LAB_RATE_MAX	8000000000000ULL	/* 1 byte per ps */
#define LAB_DELAY_MAX	(10ULL * NSEC_PER_SEC)
#define LAB_CAPTURE_MB_MAX	4096ULL
#define LAB_TIME_MAX	BIT_ULL(53)		/* 104 days in ns, which fit in ps */

/*
 * One command: its words, and why it is refused.
 */
struct lab_cmd {
	int argc;
	char *argv[LAB_ARGS_MAX];
	const char *why;
};

static int lab_refuse(struct lab_cmd *c, const char *why)
{
	c->why = why;
	return -EINVAL;
}

static int lab_number(struct lab_cmd *c, int i, u64 min, u64 max, u64 *value, const char *what)
{
	if (kstrtoull(c->argv[i], 0, value) || *value < min || *value > max)
		return lab_refuse(c, what);
	return 0;
}

static int lab_name(struct lab_cmd *c, int i)
{
	/* a % would ask for a number to be filled in */
	if (!dev_valid_name(c->argv[i]) || strchr(c->argv[i], '%'))
		return lab_refuse(c, "device name");
	return 0;
}

static struct net *lab_net(struct lab_cmd *c, int i)
{
	struct net *net;
	u64 fd;

	if (lab_number(c, i, 0, INT_MAX, &fd, "descriptor"))
		return ERR_PTR(-EINVAL);
	net = get_net_ns_by_fd(fd);
	if (IS_ERR(net))
		c->why = "descriptor is not of a network namespace";
	return net;
}

/* RATE_BPS DELAY_NS, then, behind skip words, RING */
static int lab_direction(struct lab_cmd *c, int i, int skip, u64 *rate, u64 *delay, u64 *ring)
{
	int err;

	err = lab_number(c, i, LAB_RATE_MIN, LAB_RATE_MAX, rate, "rate (1000 to 8e12 bit/s)");
	if (!err)
		err = lab_number(c, i + 1, 0, LAB_DELAY_MAX, delay, "delay (0 to 1e10 ns)");
	if (!err)
		err = lab_number(c, i + 2 + skip, 1, LAB_RING_MAX, ring, "ring (1 to 4096)");
	return err;
}

/* pair FD_A NAME_A FD_B NAME_B RATE_BPS DELAY_NS MTU RING */
static int lab_cmd_pair(struct lab_cmd *c)
{
	u64 rate, delay, mtu, ring;
	struct net *a, *b;
	int err;

	err = lab_name(c, 2);
	if (!err)
		err = lab_name(c, 4);
	if (!err)
		err = lab_direction(c, 5, 1, &rate, &delay, &ring);
	if (!err)
		err = lab_number(c, 7, ETH_MIN_MTU, LAB_MTU_MAX, &mtu, "mtu (68 to 65521)");
	if (err)
		return err;
	a = lab_net(c, 1);
	if (IS_ERR(a))
		return PTR_ERR(a);
	b = lab_net(c, 3);
	if (IS_ERR(b)) {
		put_net(a);
		return PTR_ERR(b);
	}
	err = lab_pair_create(a, c->argv[2], b, c->argv[4], rate, delay, mtu, ring);
	put_net(b);
	put_net(a);
	return err;
}

/* Find FD NAME, words 1 and 2, and apply fn under RTNL. */
static int lab_for_link(struct lab_cmd *c, int (*fn)(struct lab_cmd *c, struct lablink *l))
{
	struct net *net = lab_net(c, 1);
	struct lablink *l;
	int err;

	if (IS_ERR(net))
		return PTR_ERR(net);
	rtnl_lock();
	l = lab_link_find(net, c->argv[2]);
	if (l) {
		err = fn(c, l);
	} else {
		c->why = "no such lab device";
		err = -ENODEV;
	}
	rtnl_unlock();
	put_net(net);
	return err;
}

/* set FD NAME RATE_BPS DELAY_NS RING */
static int lab_cmd_set(struct lab_cmd *c, struct lablink *l)
{
	u64 rate, delay, ring;
	int err = lab_direction(c, 3, 0, &rate, &delay, &ring);

	return err ? err : lab_link_set(l, rate, delay, ring);
}

/* completions FD NAME BQL COALESCE_NS */
static int lab_cmd_completions(struct lab_cmd *c, struct lablink *l)
{
	u64 bql, coalesce;
	int err;

	err = lab_number(c, 3, 0, 1, &bql, "byte queue limits (0 or 1)");
	if (!err)
		err = lab_number(c, 4, 0, LAB_COALESCE_MAX, &coalesce, "coalescing (0 to 1e9 ns)");
	if (err)
		return err;
	if (bql && !IS_ENABLED(CONFIG_BQL))
		return lab_refuse(c, "this kernel has no byte queue limits");
	lab_link_set_completions(l, bql, coalesce);
	return 0;
}

/* watch FD NAME */
static int lab_cmd_watch(struct lab_cmd *c, struct lablink *l)
{
	return lab_watch(l);
}

/* capture FD NAME BYTES BUFFER_MB */
static int lab_cmd_capture(struct lab_cmd *c, struct lablink *l)
{
	u64 snaplen, mb;
	int err;

	err = lab_number(c, 3, ETH_HLEN, LAB_MTU_MAX + ETH_HLEN, &snaplen, "bytes (14 to 65535)");
	if (!err)
		err = lab_number(c, 4, 1, LAB_CAPTURE_MB_MAX, &mb, "buffer (1 to 4096 MB)");
	if (err)
		return err;
	err = lab_capture(l, snaplen, mb << 20);
	if (err == -EINVAL)
		c->why = "bytes and buffer must be those of the first capture";
	else if (err == -EEXIST)
		c->why = "is captured already";
	return err;
}

/* fault FD NAME ID KIND SHARE LATE_NS SEED */
static int lab_cmd_fault(struct lab_cmd *c, struct lablink *l)
{
	u64 id, share, late, seed;
	int kind, err;

	err = lab_number(c, 3, 0, U32_MAX, &id, "ID (0 to 2^32 - 1)");
	if (err)
		return err;
	kind = lab_fault_find(c->argv[4]);
	if (kind < 0)
		return lab_refuse(c, "fault (loss, corrupt, duplicate, reorder, down, stop)");
	err = lab_number(c, 5, 0, BIT_ULL(32), &share, "share (0 to 2^32)");
	if (!err)
		err = lab_number(c, 6, 0, LAB_DELAY_MAX, &late, "lateness (0 to 1e10 ns)");
	if (!err)
		err = lab_number(c, 7, 0, U64_MAX, &seed, "seed");
	return err ? err : lab_fault_set(l, id, kind, share, late, seed);
}

/* FD_SOCKET ID, words 1 and 2, with a reference. */
static struct sock *lab_tcp_sock(struct lab_cmd *c, u64 *id)
{
	struct socket *socket;
	struct sock *sk;
	u64 fd;
	int err;

	err = lab_number(c, 1, 0, INT_MAX, &fd, "descriptor");
	if (!err)
		err = lab_number(c, 2, 0, U32_MAX, id, "ID (0 to 2^32 - 1)");
	if (err)
		return ERR_PTR(err);
	socket = sockfd_lookup(fd, &err);
	if (!socket)
		return ERR_PTR(err);
	sk = socket->sk;
	if (!sk || !sk_is_tcp(sk)) {
		sockfd_put(socket);
		return ERR_PTR(lab_refuse(c, "descriptor is not a TCP socket"));
	}
	sock_hold(sk);
	sockfd_put(socket);
	return sk;
}

/* sock FD_SOCKET ID */
static int lab_cmd_sock(struct lab_cmd *c)
{
	struct sock *sk;
	u64 id;
	int err;

	sk = lab_tcp_sock(c, &id);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	rtnl_lock();
	err = lab_sock(sk, id);
	rtnl_unlock();
	return err;
}

/* follow FD_SOCKET ID BUFFER_MB */
static int lab_cmd_follow(struct lab_cmd *c)
{
	struct sock *sk;
	u64 id, mb;
	int err;

	err = lab_number(c, 3, 1, LAB_CAPTURE_MB_MAX, &mb, "buffer (1 to 4096 MB)");
	if (err)
		return err;
	sk = lab_tcp_sock(c, &id);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	rtnl_lock();
	err = lab_follow(sk, id, mb << 20);
	rtnl_unlock();
	if (err == -ENODEV)
		c->why = "does not send through a lab device";
	else if (err == -EOPNOTSUPP)
		c->why = "this kernel has several CPUs, or no egress hook";
	return err;
}

/* measure START_NS DURATION_NS INTERVAL_NS */
static int lab_cmd_measure(struct lab_cmd *c)
{
	u64 begin, duration, interval;
	int err;

	err = lab_number(c, 1, 1, LAB_TIME_MAX, &begin, "start");
	if (!err)
		err = lab_number(c, 2, 1, LAB_TIME_MAX, &duration, "duration");
	if (!err)
		err = lab_number(c, 3, 0, LAB_TIME_MAX, &interval, "interval");
	if (err)
		return err;
	rtnl_lock();
	err = lab_measure(begin, duration, interval);
	rtnl_unlock();
	if (err == -EINVAL)
		c->why = "start has passed";
	else if (err == -ENOMEM)
		c->why = "samples need more memory than samples_max_mb, or than there is";
	return err;
}

static int lab_cmd_finish(struct lab_cmd *c)
{
	int err;

	rtnl_lock();
	err = lab_finish();
	rtnl_unlock();
	if (err)
		c->why = "no window has begun";
	return err;
}

/* A command, or one that is @of_link: of FD NAME, words 1 and 2. */
static const struct {
	const char *name;
	int argc;
	int (*fn)(struct lab_cmd *c);
	int (*of_link)(struct lab_cmd *c, struct lablink *l);
} lab_cmds[] = {
	{ "pair",	9,	.fn = lab_cmd_pair },
	{ "set",	6,	.of_link = lab_cmd_set },
	{ "completions", 5,	.of_link = lab_cmd_completions },
	{ "watch",	3,	.of_link = lab_cmd_watch },
	{ "sock",	3,	.fn = lab_cmd_sock },
	{ "follow",	4,	.fn = lab_cmd_follow },
	{ "capture",	5,	.of_link = lab_cmd_capture },
	{ "fault",	8,	.of_link = lab_cmd_fault },
	{ "measure",	4,	.fn = lab_cmd_measure },
	{ "finish",	1,	.fn = lab_cmd_finish },
};

static int lab_execute(char *line)
{
	struct lab_cmd c = { };
	char *copy, *word;
	int err = -EINVAL;
	size_t i;

	line = strim(line);
	if (!*line || *line == '#')
		return 0;
	copy = kstrdup(line, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	while ((word = strsep(&line, " \t")) && c.argc < LAB_ARGS_MAX) {
		if (*word)
			c.argv[c.argc++] = word;
	}
	c.why = "unknown command";
	for (i = 0; i < ARRAY_SIZE(lab_cmds); i++) {
		if (strcmp(c.argv[0], lab_cmds[i].name))
			continue;
		c.why = "wrong number of words";
		if (c.argc == lab_cmds[i].argc) {
			c.why = NULL;
			err = lab_cmds[i].fn ? lab_cmds[i].fn(&c) :
					       lab_for_link(&c, lab_cmds[i].of_link);
		}
	}
	if (err)
		pr_err("lablink: refused \"%s\": %s (%d)\n", copy, c.why ? c.why : "failed", err);
	kfree(copy);
	return err;
}

static ssize_t lab_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char *text, *rest, *line;
	int err = 0;

	if (count > LAB_WRITE_MAX)
		return -E2BIG;
	text = kvmalloc(count + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	if (copy_from_user(text, from, count)) {
		kvfree(text);
		return -EFAULT;
	}
	text[count] = '\0';
	rest = text;
	while (!err && (line = strsep(&rest, "\n")))
		err = lab_execute(line);
	kvfree(text);
	return err ? err : count;
}

/* ---- results ---- */

static void *lab_seq_start(struct seq_file *m, loff_t *pos)
{
	rtnl_lock();
	return seq_list_start_head(&lab_links, *pos);
}

static void *lab_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &lab_links, pos);
}

static void lab_seq_stop(struct seq_file *m, void *v)
{
	rtnl_unlock();
}

static int lab_seq_show(struct seq_file *m, void *v)
{
	struct lablink *l = list_entry(v, struct lablink, list);

	if (v == &lab_links) {
		lab_show_global(m);
		return 0;
	}
	lab_show_link(m, l);
	lab_show_faults(m, l);
	return 0;
}

static const struct seq_operations lab_seq_ops = {
	.start	= lab_seq_start,
	.next	= lab_seq_next,
	.stop	= lab_seq_stop,
	.show	= lab_seq_show,
};

static int lab_open(struct inode *inode, struct file *file)
{
	return seq_open(file, &lab_seq_ops);
}

static const struct proc_ops lab_ctl_ops = {
	.proc_open	= lab_open,
	.proc_read	= seq_read,
	.proc_write	= lab_write,
	.proc_lseek	= seq_lseek,
	.proc_release	= seq_release,
};

static const struct proc_ops lab_samples_ops = {
	.proc_read	= lab_samples_read,
	.proc_lseek	= default_llseek,
};

static const struct proc_ops lab_capture_ops = {
	.proc_read	= lab_capture_read,
	.proc_lseek	= default_llseek,
};

static const struct proc_ops lab_follow_ops = {
	.proc_read	= lab_follow_read,
	.proc_lseek	= default_llseek,
};

static const struct {
	const char *name;
	umode_t mode;
	const struct proc_ops *ops;
} lab_files[] = {
	{ "lablink",		0600, &lab_ctl_ops },
	{ "lablink_samples",	0400, &lab_samples_ops },
	{ "lablink_capture",	0400, &lab_capture_ops },
	{ "lablink_follow",	0400, &lab_follow_ops },
};

static void lab_remove_files(size_t n)
{
	while (n)
		remove_proc_entry(lab_files[--n].name, NULL);
}

int lab_ctl_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lab_files); i++) {
		if (!proc_create(lab_files[i].name, lab_files[i].mode, NULL, lab_files[i].ops)) {
			lab_remove_files(i);
			return -ENOMEM;
		}
	}
	return 0;
}

void lab_ctl_exit(void)
{
	lab_remove_files(ARRAY_SIZE(lab_files));
}
