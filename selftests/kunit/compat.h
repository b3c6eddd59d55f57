/* SPDX-License-Identifier: GPL-2.0 */
/* What KUnit of Linux 6.1 lacks, as if the tests were for 6.12; and TCP before 7.1. */
#ifndef _BOLT_KUNIT_COMPAT_H
#define _BOLT_KUNIT_COMPAT_H

#include <kunit/test.h>

/* 6.7: the description of a row is a member of it */
#ifndef KUNIT_ARRAY_PARAM_DESC
#define KUNIT_ARRAY_PARAM_DESC(name, array, desc_member)			\
	static void name##_desc(typeof(&(array)[0]) row, char *desc)		\
	{									\
		strscpy(desc, row->desc_member, KUNIT_PARAM_DESC_SIZE);		\
	}									\
	KUNIT_ARRAY_PARAM(name, array, name##_desc)
#endif

/* 7.1: TCP accepts what is within the largest window that it has offered */
#if BOLT_KUNIT_MAX_WINDOW
#define bolt_kunit_offered(tp, end)	\
	((tp)->rcv_mwnd_seq = (end), (tp)->rcv_nxt + tcp_max_receive_window(tp))
#else
#define bolt_kunit_offered(tp, end)	((tp)->rcv_nxt + (tp)->rcv_wnd)
#endif

#endif /* _BOLT_KUNIT_COMPAT_H */
