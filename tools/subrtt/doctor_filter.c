// SPDX-License-Identifier: GPL-2.0
/*
 * Would a packet filter drop control messages?  What is sent to oneself goes by loopback, which
 * filters let pass; so the rules are read, as text, for what is written most often:
 *
 *   - a rule in a base chain that drops or rejects the port;
 *   - a base chain that drops what it does not know (its policy, or its last rule), in a table
 *     where no rule accepts the port.
 *
 * A rule about the port that looks at addresses or devices as well, at another chain or at a named
 * map, may let in just the switches: that is reported, and is nothing to fix.  So is one for states
 * without "untracked", which the messages of this machine's own sfc are.  A rule of nftables
 * that accepts by address or device alone is not understood.  Of the older iptables, what is not
 * sure is reported likewise.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "subrtt.h"
#include "doctor.h"
#include "qdisc.h"

#define SENDERS		"from some senders or devices only: every switch has to be among them"
#define OWN		"what this machine's own sfc sends, which is untracked"
#define STATES		"by state, and not " OWN
#define UNTRACKED	", and " OWN
static bool own_sfc;	/* its messages are not tracked */

static void count_port(const struct qdisc_port *p, void *arg)
{
	(void)p;
	*(bool *)arg = true;
}

/* Whether a rule of states leaves out what this machine's own sfc sends */
static bool tracked_only(const char *rule)
{
	return own_sfc && strstr(rule, "state ") && !strcasestr(rule, "untracked");
}

/* Whether a number, a range or an element of a set in the text is the port */
static bool has_port(const char *s, unsigned int port)
{
	unsigned long a, b;
	char *end;

	while (*s) {
		if (!isdigit((unsigned char)*s) || isalpha((unsigned char)s[1])) {
			s++;
			continue;
		}
		a = strtoul(s, &end, 10);
		b = a;
		s = end;
		if ((*s == '-' || *s == ':') && isdigit((unsigned char)s[1])) {
			b = strtoul(s + 1, &end, 10);
			s = end;
		}
		if (a <= port && port <= b)
			return true;
	}
	return false;
}

static bool word_in(const char *rule, const char *word)
{
	const char *at = rule;
	size_t n = strlen(word);

	while ((at = strstr(at, word))) {
		if ((at == rule || strchr(" {", at[-1])) && (!at[n] || strchr(" ,}", at[n])))
			return true;
		at += n;
	}
	return false;
}

static bool stops(const char *rule)
{
	return word_in(rule, "drop") || word_in(rule, "reject");
}

/* --- nftables --- */

struct chain {
	char table[128];	/* "inet filter" */
	char name[64];
	bool base, ours;	/* at any hook; at the one that is looked at */
	bool drops;		/* by policy or at its end */
	bool drops_port;
	bool accepts_port;	/* in the table, by any chain that the hook may come through */
	bool some_only;		/* a rule about the port depends on who sends */
	bool tracked_only;	/* a rule accepts it by states without "untracked" */
};

/**
 * struct ruleset - what has been read of it
 * @chains:	@n of them, room for @room; those of the table begin with @first
 * @sets:	names of the table's sets that have the port, each behind a blank
 */
struct ruleset {
	unsigned int port;
	struct chain *chains;
	unsigned int n, room, first;
	char table[128];
	char sets[1024];
};

struct verdict {
	bool blocked, some_only;
};

/* What a rule says of our destination port */
enum about {
	NOT_THE_PORT,
	ACCEPTS, STOPS, NEITHER,
	ACCEPTS_TRACKED,	/* but not what this machine's own sfc sends */
	SOME_OF_IT,	/* it depends on who sends: an address, a device, another chain, a map */
};

/* "@name", of a set that has the port */
static bool set_has_port(const struct ruleset *r, const char *at)
{
	char name[66];

	snprintf(name, sizeof(name), " %.*s ", (int)strcspn(at + 1, " "), at + 1);
	return strstr(r->sets, name);
}

/* "{ 22 : accept, 12311 : drop }": what the port's element says */
static enum about of_map(const char *at, unsigned int port)
{
	char element[128];
	size_t n;

	for (at++; *at && *at != '}'; at += n + (at[n] == ',')) {
		n = strcspn(at, ",}");
		snprintf(element, sizeof(element), "%.*s", (int)n, at);
		if (!strstr(element, " : ") || !has_port(element, port))
			continue;
		return word_in(element, "accept") ? ACCEPTS : stops(element) ? STOPS : SOME_OF_IT;
	}
	return NOT_THE_PORT;
}

/* By address or device */
static bool some_only(const char *rule)
{
	return strstr(rule, "saddr ") || strstr(rule, "daddr ") || strstr(rule, "iif") ||
	       strstr(rule, "oif") || strstr(rule, "!= ");
}

static const char *past_counter(const char *s)
{
	int n = 0;

	sscanf(s, "counter packets %*u bytes %*u %n", &n);
	return s + n;
}

/* A rule that accepts, and names no port: what accepts all, or all of UDP, accepts ours */
static enum about about_udp(const char *rule)
{
	const char *at = past_counter(rule);

	if (!strncmp(at, "accept", 6))
		return ACCEPTS;
	if (!word_in(rule, "udp") || strstr(rule, "!= udp") || strstr(rule, "sport ") ||
	    strstr(rule, "ct "))
		return NOT_THE_PORT;
	if (strncmp(at, "meta l4proto ", 13) && strncmp(at, "ip protocol ", 12) &&
	    strncmp(at, "ip6 nexthdr ", 12))
		return SOME_OF_IT;
	at = strstr(at, "udp");
	at += strcspn(at, strchr(at, '}') ? "}" : " ") + 1;
	at = past_counter(at + strspn(at, " "));
	return strncmp(at, "accept", 6) ? SOME_OF_IT : ACCEPTS;
}

static enum about about_port(const struct ruleset *r, const char *rule)
{
	const char *at = strstr(rule, "dport ");
	char match[1024];
	size_t n;

	if (!at && r->chains[r->n - 1].base && word_in(rule, "accept"))
		return about_udp(rule);
	if (!at || strstr(rule, "tcp dport"))
		return NOT_THE_PORT;
	at += strlen("dport ");
	at += strspn(at, " ");
	if (!strncmp(at, "!= ", 3))
		return NOT_THE_PORT;
	/* a named map, or a set of ports with addresses, is not looked up */
	if (*at == '.' || !strncmp(at, "vmap @", 6))
		return SOME_OF_IT;
	if (!strncmp(at, "vmap {", 6))
		return of_map(at + 5, r->port);
	n = *at == '{' ? strcspn(at, "}") : strcspn(at, " ");
	snprintf(match, sizeof(match), "%.*s", (int)n, at);
	if (*at == '@' ? !set_has_port(r, at) : !has_port(match, r->port))
		return NOT_THE_PORT;
	if (some_only(rule) || word_in(rule, "jump") || word_in(rule, "goto"))
		return SOME_OF_IT;
	if (word_in(rule, "accept"))
		return tracked_only(rule) ? ACCEPTS_TRACKED : ACCEPTS;
	return stops(rule) ? STOPS : NEITHER;
}

static void conclude(const struct chain *c, unsigned int port, struct verdict *v)
{
	if (!c->ours)
		return;
	if (!c->drops_port &&
	    (!c->drops || c->accepts_port || c->some_only || c->tracked_only)) {
		if (!c->some_only && (!c->drops || c->accepts_port))
			return;
		v->some_only = true;
		found(D_NOTE, "filter", NULL, "chain %s of table %s lets UDP port %u in %s",
		      c->name, c->table, port, c->some_only ? SENDERS : STATES);
		return;
	}
	v->blocked = true;
	found(D_FIX, "filter",
	      words("sudo nft insert rule %s %s udp dport %u accept", c->table, c->name, port),
	      c->drops_port ?
	      "chain %s of table %s drops UDP port %u, so control messages do not arrive" :
	      "chain %s of table %s drops what no rule accepts, and no rule of the table accepts UDP port %u",
	      c->name, c->table, port);
}

static void read_rule(struct ruleset *r, const char *rule)
{
	struct chain *c = &r->chains[r->n - 1];
	enum about about = about_port(r, rule);
	unsigned int i;

	/* what another hook accepts does not help */
	if (about != NOT_THE_PORT && c->base && !c->ours)
		return;
	for (i = r->first; i < r->n; i++) {
		r->chains[i].some_only |= about == SOME_OF_IT;
		r->chains[i].accepts_port |= about == ACCEPTS;
		r->chains[i].tracked_only |= about == ACCEPTS_TRACKED;
	}
	if (about == STOPS && !c->accepts_port && !c->some_only && !c->tracked_only)
		c->drops_port = true;
	/* the last rule counts: what stands before it is for somebody else */
	if (about == NOT_THE_PORT &&
	    (!strncmp(rule, "drop", 4) || !strncmp(rule, "reject", 6) ||
	     (!strncmp(rule, "counter", 7) && stops(rule))))
		c->drops = true;
}

static void begin_chain(struct ruleset *r, const char *name)
{
	struct chain *c = bc_more(&r->chains, &r->n, &r->room, sizeof(*c));

	if (!c)
		exit(bc_error(BC_FAIL, "no memory"));
	snprintf(c->table, sizeof(c->table), "%s", r->table);
	snprintf(c->name, sizeof(c->name), "%.*s", (int)strcspn(name, " "), name);
	/* what an earlier chain of the table says */
	if (r->n - 1 > r->first) {
		c->accepts_port = r->chains[r->first].accepts_port;
		c->some_only = r->chains[r->first].some_only;
		c->tracked_only = r->chains[r->first].tracked_only;
	}
}

static void add_set(struct ruleset *r, const char *name)
{
	size_t n = strlen(r->sets);

	if (n + strlen(name) + 2 < sizeof(r->sets))
		sprintf(r->sets + n, "%s ", name);
}

/* Comments and prefixes of a log may say anything. */
static void strip_quotes(char *line)
{
	char *end;

	while ((line = strchr(line, '"')) && (end = strchr(line + 1, '"')))
		memmove(line, end + 1, strlen(end + 1) + 1);
}

/* A table may have several chains at the hook; what is accepted in one table another may drop. */
static void read_nft(char *rules, const char *hook, unsigned int port, struct verdict *v)
{
	enum { NOWHERE, IN_SET, IN_ELEMENTS, IN_CHAIN } where = NOWHERE;
	struct ruleset r = { .port = port };
	char want[32], set[64], *line, *next;
	struct chain *c;
	unsigned int i;

	snprintf(want, sizeof(want), "hook %s ", hook);
	for (line = rules; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, " \t");
		strip_quotes(line);
		if (!strncmp(line, "table ", 6)) {
			line[strcspn(line, "{")] = '\0';
			snprintf(r.table, sizeof(r.table), "%.*s", (int)strlen(line) - 7, line + 6);
			r.first = r.n;
			snprintf(r.sets, sizeof(r.sets), " ");
			where = NOWHERE;
		} else if (!strncmp(line, "chain ", 6)) {
			begin_chain(&r, line + 6);
			where = IN_CHAIN;
		} else if (!strncmp(line, "set ", 4)) {
			snprintf(set, sizeof(set), "%.*s", (int)strcspn(line + 4, " "), line + 4);
			where = IN_SET;
		} else if (where == IN_ELEMENTS ||
			   (where == IN_SET && !strncmp(line, "elements", 8))) {
			if (has_port(line, port))
				add_set(&r, set);
			where = strchr(line, '}') ? IN_SET : IN_ELEMENTS;
		} else if (*line == '}') {
			where = NOWHERE;
		} else if (where == IN_CHAIN && strstr(line, " hook ")) {
			c = &r.chains[r.n - 1];
			c->base = true;
			c->ours = strstr(line, "type filter") && strstr(line, want);
			c->drops = strstr(line, "policy drop");
		} else if (where == IN_CHAIN && *line) {
			read_rule(&r, line);
		}
	}
	for (i = 0; i < r.n; i++)
		conclude(&r.chains[i], port, v);
	free(r.chains);
}

/* --- the older iptables --- */

/* A state that new packets are in is no more than none */
static bool ipt_new(const char *rule)
{
	return (strstr(rule, "state NEW") || strstr(rule, ",NEW")) &&
	       !strstr(rule, " ! --ctstate ") && !strstr(rule, " ! --state ");
}

/* Whether it looks at more than protocol and destination port */
static bool ipt_more(const char *rule)
{
	static const char * const more[] = {
		" -s ", " -d ", " -i ", " -o ", " --sport", " --ports ",
	};
	const char *m = rule;
	bool some_states;
	unsigned int i;

	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (strstr(rule, more[i]))
			return true;
	some_states = tracked_only(rule) && strstr(rule, " -j ACCEPT");
	while ((m = strstr(m, " -m "))) {
		m += 4;
		if (strncmp(m, "udp ", 4) && strncmp(m, "multiport ", 10) &&
		    strncmp(m, "comment ", 8) &&
		    !((!strncmp(m, "state ", 6) || !strncmp(m, "conntrack ", 10)) &&
		      ipt_new(rule) && !some_states))
			return true;
	}
	return false;
}

/* Whether a rule of iptables -S is about control messages */
static enum ipt_ours { NEVER, PERHAPS, SURELY } ipt_ours(const char *rule, unsigned int port)
{
	const char *at = strstr(rule, " -p "), *value;

	if ((at && (strncmp(at + 4, "udp ", 4) != 0) == (at[-1] != '!')) ||
	    (strstr(rule, "state ") && !strstr(rule, " ! --") && !ipt_new(rule)) ||
	    (strstr(rule, " -i lo ") && !strstr(rule, " ! -i lo ")) ||
	    (strstr(rule, " -f ") && !strstr(rule, " ! -f ")))
		return NEVER;
	for (at = rule; (at = strstr(at, " --dport")); at = value) {
		value = at + strcspn(at + 1, " ") + 2;
		if (has_port(words("%.*s", (int)strcspn(value, " "), value), port) ==
		    (at[-1] == '!'))
			return NEVER;
	}
	return ipt_more(rule) ? PERHAPS : SURELY;
}

/* What may become of them: a set of these */
enum { IPT_PASS = 1, IPT_DROP = 2, IPT_NEXT = 4 };
#define IPT_JUMPS 3	/* that are followed */

static unsigned int ipt_chain(const char *rules, const char *chain, unsigned int port, int jumps);

/* In the target, or the chain, of a rule */
static unsigned int ipt_target(const char *rules, const char *name, unsigned int port, int jumps)
{
	if (!strcmp(name, "ACCEPT"))
		return IPT_PASS;
	if (!strcmp(name, "DROP") || !strcmp(name, "REJECT"))
		return IPT_DROP;
	if (strstr(" RETURN LOG NFLOG MARK CONNMARK ", words(" %s ", name)))
		return IPT_NEXT;
	if (jumps && strstr(rules, words("-N %s\n", name)))
		return ipt_chain(rules, name, port, jumps - 1);
	return IPT_PASS | IPT_DROP | IPT_NEXT;
}

/* In a chain, of the rules of all; IPT_NEXT: behind the rule that jumped there */
static unsigned int ipt_chain(const char *rules, const char *chain, unsigned int port, int jumps)
{
	unsigned int set = 0, end = IPT_NEXT, one;
	const char *next, *line, *at;
	char what, name[64], rule[4096];
	enum ipt_ours ours;
	bool leaves;

	for (line = rules; *line; line = next) {
		next = line + strcspn(line, "\n");
		snprintf(rule, sizeof(rule), "%.*s", (int)(next - line), line);
		next += *next == '\n';
		strip_quotes(rule);
		if (sscanf(rule, "-%c %63s", &what, name) < 2 || strcmp(name, chain))
			continue;
		if (what == 'P')
			end = strstr(rule, " DROP") ? IPT_DROP : IPT_PASS;
		ours = ipt_ours(rule, port);
		at = strstr(rule, " -j ");
		leaves = !at;
		if (!at)
			at = strstr(rule, " -g ");
		if (ours == NEVER || !at || sscanf(at + 4, "%63s", name) < 1)
			continue;
		one = ipt_target(rules, name, port, jumps);
		if (one & IPT_NEXT) {
			one &= ~IPT_NEXT;
			if (leaves || !strcmp(name, "RETURN"))
				one |= end;
			else
				ours = PERHAPS;
		}
		set |= one;
		if (ours == SURELY)
			return set;
	}
	return set | end;
}

static bool ipt_blocks(const char *command, const char *chain, const char *rules,
		       unsigned int port, struct verdict *v)
{
	unsigned int set = ipt_chain(rules, chain, port, IPT_JUMPS);

	if (set == IPT_PASS)
		return false;
	if (set != IPT_DROP) {
		v->some_only = true;
		found(D_NOTE, "filter", NULL,
		      "%s: chain %s looks at more than the port %u of UDP: every switch has to pass it%s",
		      command, chain, port, own_sfc ? UNTRACKED : "");
		return false;
	}
	found(D_FIX, "filter",
	      words("sudo %s -I %s -p udp --dport %u -j ACCEPT", command, chain, port),
	      "%s: chain %s drops UDP port %u", command, chain, port);
	return true;
}

bool doctor_filter(bool host, bool router, unsigned int port)
{
	static const char * const legacy[] = { "iptables-legacy", "ip6tables-legacy" };
	static const char * const names[] = {
		"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names",
	};
	const size_t room = 4 << 20;
	char *out = malloc(room), *copy, s[64];
	struct verdict v = { false, false }, through = { false, false };
	unsigned int i;
	int status;

	if (!out)
		exit(bc_error(BC_FAIL, "no memory"));
	router &= forwards();
	if (module_loaded("sch_sfc"))
		qdisc_each(count_port, &own_sfc);
	status = run_command("nft list ruleset 2>&1", out, room);
	if (status && status != 127) {
		found(D_UNKNOWN, "filter", "sudo subrtt doctor",
		      "packet filters cannot be read: %.*s", (int)strcspn(out, "\n"), out);
		free(out);
		return false;
	}
	if (status) {
		found(D_NOTE, "filter", "sudo apt-get install nftables",
		      "nft is not installed, so the rules of packet filters were not checked");
	} else {
		copy = words("%s", out);
		if (host)
			read_nft(out, "input", port, &v);
		if (router)
			read_nft(copy, "forward", port, &through);
		free(copy);
	}
	for (i = 0; i < 2; i++) {
		if (bc_read_file(names[i], s, sizeof(s)) <= 0)
			continue;
		if (run_command(words("%s -S 2>/dev/null", legacy[i]), out, room)) {
			found(D_NOTE, "filter", NULL, "%s does not list its rules: not checked",
			      legacy[i]);
			v.some_only = true;
			continue;
		}
		if (host)
			v.blocked |= ipt_blocks(legacy[i], "INPUT", out, port, &v);
		if (router)
			through.blocked |= ipt_blocks(legacy[i], "FORWARD", out, port, &through);
	}
	free(out);
	if (!v.blocked && !v.some_only && !through.blocked && !through.some_only && status != 127)
		found(D_OK, "filter", NULL, "no filter of this machine drops UDP port %u", port);
	return v.some_only;
}
