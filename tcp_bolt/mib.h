/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a namespace: the name in /proc/net/bolt_stat and its meaning.
 * Documentation/counters.rst explains them for users.  CtlShort to CtlQuote are in the order of
 * enum bolt_msg_verdict, SrcDec to SrcFloor in that of enum bolt_src_verdict.
 */
#ifndef _TCP_BOLT_MIB_H
#define _TCP_BOLT_MIB_H

#include <linux/types.h>

#define BOLT_MIB_LIST(X)							\
	X(SynTx)		/* SYNs sent with the offer */			\
	X(SynRx)		/* SYNs received with the offer */		\
	X(SynAckTx)		/* SYN-ACKs sent that accept it */		\
	X(SynAckRx)		/* SYN-ACKs received that accept it */		\
	X(Negotiated)		/* connections that carry the option */		\
	X(Fallback)		/* connections of bolt sockets that do not */	\
	X(FallbackLate)		/* of those: the option vanished from ACKs */	\
	X(NoHooks)		/* bolt and swift sockets begun with net.bolt.hooks=0 */ \
	X(OptTx)		/* packets sent with the option; a TSO burst is one */ \
	X(OptRx)		/* packets received with the option, as segments */ \
	X(OptBad)		/* our ExID, but a length that does not exist */ \
	X(OptUnexpected)	/* on a socket that did not negotiate it */	\
	X(OptWindow)		/* on a segment outside the window: ignored */	\
	X(OptEcho)		/* on an ACK that echoes no packet: no RTT sample */ \
	X(OptNoRoom)		/* packets without it: option space full */	\
	X(OptNoMtu)		/* packets without it: path MTU too small */	\
	X(OptNoMem)		/* packets without it: no header room */	\
	X(SackTrimmed)		/* SACK blocks or AccECN removed to make room */	\
	X(IncRx)		/* data packets that arrived with INC */	\
	X(DecRx)		/* data packets that arrived with DEC */	\
	X(IncGranted)		/* packets added to windows for INC */		\
	X(BelowTx)		/* data packets sent with a window below one */	\
	X(FirstTx)		/* data packets sent with FIRST */		\
	X(LastTx)		/* data packets sent with LAST */		\
	X(LastFalse)		/* flows that went on after LAST */		\
	X(CtlRx)		/* datagrams on the control port */		\
	X(SrcRx)		/* SRC accepted */				\
	X(SrcDec)		/* of those: the window became smaller */	\
	X(SrcHeld)		/* of those: the window did not */		\
	X(SrcFloor)		/* of those: the window was at its minimum */	\
	X(CtlShort)		/* refused: too short for a message */		\
	X(CtlLength)		/* refused: too long for a message */		\
	X(CtlVersion)		/* refused: unknown version */			\
	X(CtlType)		/* refused: unknown type */			\
	X(CtlFlags)		/* refused: unknown flag */			\
	X(CtlField)		/* refused: value out of range */		\
	X(CtlQuote)		/* refused: quote is not the head of a TCP packet */		\
	X(CtlTag)		/* refused: keyed tag missing or wrong */	\
	X(CtlTtl)		/* refused: TTL below net.bolt.min_ttl */	\
	X(CtlLocal)		/* refused: sent by this host itself */		\
	X(CtlPort)		/* refused: not sent from the control port */	\
	X(CtlNoSocket)		/* refused: no such connection */		\
	X(CtlNotBolt)		/* refused: connection does not use bolt */	\
	X(CtlDeferred)		/* deferred: a user owned the socket */	\
	X(CtlOverrun)		/* refused: too many were deferred */		\
	X(CtlSeq)		/* refused: no packet in flight begins there */	\
	X(CtlTime)		/* refused: the echo does not match that packet */ \
	X(CtlReplay)		/* refused: seen before */			\
	X(BtsRx)		/* BTS accepted */				\
	X(BtsClamped)		/* of those: pause shorter than requested */	\
	X(BtsOff)		/* BTS and CNM refused: net.bolt.sfc is 0 */	\
	X(BtsOversize)		/* refused: pause of more than a second */	\
	X(BtsDeaf)		/* refused: watchdog has tripped */		\
	X(WatchdogTrips)	/* flows paused for too much of an interval */	\
	X(Pauses)		/* pauses begun; a BTS during one replaces it */ \
	X(PausedNs)		/* time for which flows were paused, ns */	\
	X(PausePassed)		/* retransmits during a pause */		\
	X(CnmRx)		/* CNM accepted */				\
	X(CnmTx)		/* data packets that a CNM's rate left a gap behind */ \
	X(SwiftPlain)		/* connections of swift sockets without the option */ \
	X(SwiftLimits)		/* ACKs of bolt sockets with Swift's window smaller */ \
	X(SwiftTcpRtt)		/* ACKs for which only TCP's RTT was available */ \
	X(SwiftDec)		/* decreases of the fabric window for delay */	\
	X(LossDec)		/* windows cut on fast recovery */		\
	X(RtoDec)		/* windows cut on retransmission timeout */	\
	X(NoMem)		/* allocations that failed */

#define BOLT_MIB_ENUM(name)	BOLT_MIB_##name,
enum bolt_mib_item {
	BOLT_MIB_LIST(BOLT_MIB_ENUM)
	BOLT_MIB_MAX
};

struct bolt_mib {
	u64	v[BOLT_MIB_MAX];
};

#endif /* _TCP_BOLT_MIB_H */
