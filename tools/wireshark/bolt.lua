-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark and tshark: the Bolt TCP option, and the control messages SRC, BTS and CNM.
-- include/uapi/linux/bolt.h is the law here; Documentation/wireshark.rst has the filters.
--
-- The option is read by a postdissector, from the bytes that Wireshark's own TCP dissector
-- has set apart: kind 254 stays open for other experiments (RFC 6994).

local KIND, EXID = 254, 0xB017
local LEN_SYN, LEN_FULL = 4, 12
local RQ_DELAY_NS = 16
local LEVEL_MAX = 32
local CTL_PORT, CTL_HEAD, CTL_VERSION = 12311, 20, 2
local NUMBER_LEN, SENT_LEN, TAG_LEN = 4, 12, 8
local QUOTE_MIN, QUOTE_MAX, L4_QUOTE = 28, 128, 8
local SRC, BTS, CNM = 1, 2, 3
local TYPES = { [SRC] = "SRC", [BTS] = "BTS", [CNM] = "CNM" }
local WITH_PORTS = { [6] = "TCP", [17] = "UDP", [33] = "DCCP", [132] = "SCTP", [136] = "UDP-Lite" }

local BYTES, NS, KBIT = { " byte", " bytes" }, { " ns" }, { " kbit/s" }

-- ---- the option ----

local bolt = Proto("bolt", "Bolt TCP option")
local F = {
	form		= ProtoField.uint8("bolt.len", "Length", base.DEC),
	exid		= ProtoField.uint16("bolt.exid", "ExID", base.HEX),
	offer		= ProtoField.bool("bolt.offer", "Offer or acceptance, of a handshake"),
	flags		= ProtoField.uint8("bolt.flags", "Flags", base.HEX),
	data		= ProtoField.bool("bolt.flags.data", "DATA: has payload", 8, nil, 0x80),
	ack		= ProtoField.bool("bolt.flags.ack", "ACK: inc_count is meaningful", 8, nil, 0x40),
	src		= ProtoField.bool("bolt.flags.src", "SRC: never in the option", 8, nil, 0x20),
	last		= ProtoField.bool("bolt.flags.last", "LAST: last window of the flow", 8, nil, 0x10),
	first		= ProtoField.bool("bolt.flags.first", "FIRST: first window of the flow", 8, nil, 0x08),
	inc		= ProtoField.bool("bolt.flags.inc", "INC: the window may grow by one packet", 8, nil, 0x04),
	dec		= ProtoField.bool("bolt.flags.dec", "DEC: a switch was congested, or the echo of that", 8, nil, 0x02),
	inc_count	= ProtoField.uint8("bolt.inc_count", "inc_count: arrived with INC, modulo 256", base.DEC),
	tx		= ProtoField.uint32("bolt.t_data_tx", "t_data_tx", base.UNIT_STRING, NS),
	rq		= ProtoField.uint16("bolt.rq_delay", "rq_delay", base.HEX),
	hops		= ProtoField.uint8("bolt.rq_delay.hops", "Routers passed (15: or more)", base.DEC, nil, 0xf0),
	level		= ProtoField.uint8("bolt.level", "Level (1 + N: at least 2^(N-1) bytes of its message were sent before it)", base.DEC),
	rq_ns		= ProtoField.uint32("bolt.rq_delay.ns", "Waited at the receiver", base.UNIT_STRING, NS),
	echo		= ProtoField.framenum("bolt.echo.frame", "Echo of the data packet in frame", base.NONE, frametype.ACK),
	echo_ns		= ProtoField.uint32("bolt.echo.ns", "Time since that frame", base.UNIT_STRING, NS),
}
local E = {
	length	= ProtoExpert.new("bolt.bad_length", "Bolt option: length is neither 4 nor 12", expert.group.MALFORMED, expert.severity.ERROR),
	cut	= ProtoExpert.new("bolt.cut", "Bolt option: ends beyond the TCP header", expert.group.MALFORMED, expert.severity.ERROR),
	syn	= ProtoExpert.new("bolt.syn_form", "Bolt option: a SYN carries the short form, all else the long", expert.group.PROTOCOL, expert.severity.WARN),
	src	= ProtoExpert.new("bolt.src_flag", "Bolt option: SRC is never set in the option", expert.group.PROTOCOL, expert.severity.WARN),
	payload	= ProtoExpert.new("bolt.data_flag", "Bolt option: DATA and the segment's payload do not agree", expert.group.PROTOCOL, expert.severity.WARN),
	stamp	= ProtoExpert.new("bolt.no_stamp", "Bolt option: data without t_data_tx", expert.group.PROTOCOL, expert.severity.WARN),
	rq	= ProtoExpert.new("bolt.rq_of_data", "Bolt option: a level beyond 32", expert.group.PROTOCOL, expert.severity.NOTE),
	dec	= ProtoExpert.new("bolt.dec", "No switch is to answer this packet with an SRC: one has, or the sender wants none", expert.group.SEQUENCE, expert.severity.CHAT),
}

local function values(t)
	local list = {}
	for _, v in pairs(t) do
		list[#list + 1] = v
	end
	return list
end

bolt.fields = values(F)
bolt.experts = values(E)
bolt.prefs.match = Pref.bool("Name the packet that an ACK or a control message answers", true,
	"Takes memory for every data packet of the capture")

-- Data packets by flow and t_data_tx, and what was found for each frame: the first of them, in whatever order frames
-- are looked at
local sent, found

function bolt.init()
	sent, found = {}, {}
end

local function flow_key(src, sport, dst, dport, stamp)
	return src .. " " .. sport .. " " .. dst .. " " .. dport .. " " .. stamp
end

-- {frame, seconds since the capture began} of the data packet, remembered for this frame
local function answer_of(pinfo, which, key)
	local id = pinfo.number .. which
	if key and bolt.prefs.match and not found[id] then
		local data = sent[key]
		-- a later pass knows packets that were sent after this
		found[id] = data and data[1] < pinfo.number and { data[1], pinfo.rel_ts - data[2] } or nil
	end
	return found[id]
end

local function add_answer(tree, answer, frame, time)
	if not answer then
		return
	end
	tree:add(frame, answer[1]):set_generated()
	if answer[2] >= 0 and answer[2] < 4 then
		tree:add(time, math.floor(answer[2] * 1e9 + 0.5)):set_generated()
	end
end

local tcp_options = Field.new("tcp.options")
local tcp_len = Field.new("tcp.len")
local tcp_syn = Field.new("tcp.flags.syn")
local tcp_sport = Field.new("tcp.srcport")
local tcp_dport = Field.new("tcp.dstport")

local NAMES = { { "data", "DATA" }, { "ack", "ACK" }, { "src", "SRC" }, { "last", "LAST" }, { "first", "FIRST" }, { "inc", "INC" },
	{ "dec", "DEC" } }

local function flag(range, i)
	return range:bitfield(i - 1, 1) == 1
end

local function add_full(opt, tree, pinfo, n)
	local flags, set = opt(4, 1), {}
	for i, name in ipairs(NAMES) do
		if flag(flags, i) then
			set[#set + 1] = name[2]
		end
	end
	local text = table.concat(set, ",")
	local item = tree:add(F.flags, flags):append_text(" (" .. text .. ")")
	for _, name in ipairs(NAMES) do
		item:add(F[name[1]], flags)
	end
	tree:add(F.inc_count, opt(5, 1))
	local stamp, rq = opt(6, 4):uint(), opt(10, 2)
	local data, dec = flag(flags, 1), flag(flags, 7)
	local stamp_item = tree:add(F.tx, opt(6, 4)):append_text(data and ": departure at the sender" or stamp == 0 and ": none" or ": echo")
	-- a FIN has no echo, and a level
	local level = data or stamp == 0 and rq:uint() > 0
	local rq_item = level and tree:add(F.level, opt(11, 1)) or tree:add(F.rq, rq)
	if not level then
		rq_item:add(F.hops, opt(10, 1))
		rq_item:add(F.rq_ns, rq, rq:bitfield(8, 8) * 2 ^ rq:bitfield(4, 4) * RQ_DELAY_NS)
	end

	if flag(flags, 3) then
		item:add_proto_expert_info(E.src)
	end
	if n.len and data ~= (n.len > 0) then
		item:add_proto_expert_info(E.payload)
	end
	if data and stamp == 0 then
		stamp_item:add_proto_expert_info(E.stamp)
	end
	if level and rq:uint() > LEVEL_MAX then
		rq_item:add_proto_expert_info(E.rq)
	end
	if data and dec then
		item:add_proto_expert_info(E.dec)
	end

	if n.sport and stamp ~= 0 then
		local src, dst = tostring(pinfo.net_src), tostring(pinfo.net_dst)
		if data then
			local key = flow_key(src, n.sport, dst, n.dport, stamp)
			if bolt.prefs.match and (not sent[key] or sent[key][1] > pinfo.number) then
				sent[key] = { pinfo.number, pinfo.rel_ts }
			end
		else
			add_answer(tree, answer_of(pinfo, "ack", flow_key(dst, n.dport, src, n.sport, stamp)), F.echo, F.echo_ns)
		end
	end
	return text
end

-- One option block; what stands behind an option that cannot be is not looked at, as in TCP itself
local function add_options(block, tree, pinfo, n)
	local at, size = 0, block:len()
	while at < size do
		local kind = block(at, 1):uint()
		if kind == 0 then
			return
		end
		local len = 1
		if kind ~= 1 then
			if at + 2 > size then
				return
			end
			len = block(at + 1, 1):uint()
			if len < 2 then
				return
			end
		end
		if kind == KIND and len >= 4 and at + 4 <= size and block(at + 2, 2):uint() == EXID then
			local opt = block(at, math.min(len, size - at))
			local sub = tree:add(bolt, opt)
			sub:add(F.form, opt(1, 1))
			sub:add(F.exid, opt(2, 2))
			if at + len > size then
				sub:add_proto_expert_info(E.cut)
				return
			end
			sub:add(F.offer, opt, len == LEN_SYN)
			if len == LEN_FULL then
				local text = add_full(opt, sub, pinfo, n)
				sub:append_text(": " .. text)
				pinfo.cols.info:append(" Bolt=" .. text)
			elseif len == LEN_SYN then
				sub:append_text(": offer")
				pinfo.cols.info:append(" Bolt")
			else
				sub:add_proto_expert_info(E.length)
			end
			if n.syn ~= nil and (len == LEN_SYN) ~= n.syn and (len == LEN_SYN or len == LEN_FULL) then
				sub:add_proto_expert_info(E.syn)
			end
			return
		end
		at = at + len
	end
end

function bolt.dissector(_, pinfo, tree)
	-- a TCP header inside another packet has its own
	local blocks, len, syn = { tcp_options() }, { tcp_len() }, { tcp_syn() }
	local sport, dport = { tcp_sport() }, { tcp_dport() }
	local whole = #blocks == #len and #blocks == #syn and #blocks == #sport and #blocks == #dport
	for i, block in ipairs(blocks) do
		local n = {}
		if whole then
			n = { len = len[i].value, syn = syn[i].value, sport = sport[i].value, dport = dport[i].value }
		end
		if block.range:len() == block.len then
			add_options(block.range, tree, pinfo, n)
		end
	end
end

register_postdissector(bolt)

-- Wireshark's first pass makes no fields unless somebody filters; data packets would not be remembered when their answers
-- are shown
local filters = Listener.new(nil, "tcp.options")

-- ---- the control message ----

local ctl = Proto("bolt_ctl", "Bolt control message")
local C = {
	version	= ProtoField.uint8("bolt.ctl.version", "Version", base.DEC),
	type	= ProtoField.uint8("bolt.ctl.type", "Type", base.DEC, TYPES),
	flags	= ProtoField.uint8("bolt.ctl.flags", "Flags", base.HEX),
	cacheable = ProtoField.bool("bolt.ctl.flags.cacheable", "Cacheable: a switch on the way may remember it", 8, nil, 0x01),
	cached	= ProtoField.bool("bolt.ctl.flags.from_cache", "From cache: of a switch nearer to the sender", 8, nil, 0x02),
	tagged	= ProtoField.bool("bolt.ctl.flags.tagged", "Tagged", 8, nil, 0x04),
	granted	= ProtoField.bool("bolt.ctl.flags.granted", "The packet went on with INC", 8, nil, 0x08),
	unknown	= ProtoField.uint8("bolt.ctl.flags.unknown", "Unknown", base.HEX, nil, 0xf0),
	dscp	= ProtoField.uint8("bolt.ctl.dscp", "DSCP of the quoted packet", base.DEC),
	tx	= ProtoField.uint32("bolt.ctl.t_data_tx", "Echo", base.DEC),
	rate	= ProtoField.uint32("bolt.ctl.link_rate", "Rate of the link", base.UNIT_STRING, KBIT),
	drain	= ProtoField.uint32("bolt.ctl.drain_ns", "The queue takes to drain", base.UNIT_STRING, NS),
	queue	= ProtoField.uint32("bolt.ctl.queue", "Queue", base.UNIT_STRING, BYTES),
	src_queue = ProtoField.uint32("bolt.src.queue", "Queue", base.UNIT_STRING, BYTES),
	bts_queue = ProtoField.uint32("bolt.bts.queue", "Queue", base.UNIT_STRING, BYTES),
	cnm_queue = ProtoField.uint32("bolt.cnm.queue", "Queue", base.UNIT_STRING, BYTES),
	pause	= ProtoField.uint32("bolt.bts.pause", "Pause", base.UNIT_STRING, NS),
	target	= ProtoField.uint32("bolt.cnm.target_rate", "Rate to send at", base.UNIT_STRING, KBIT),
	switch	= ProtoField.uint32("bolt.ctl.switch_id", "Switch", base.DEC),
	sent	= ProtoField.uint64("bolt.ctl.sent", "Sent, by that clock", base.DEC),
	clock	= ProtoField.uint32("bolt.ctl.clock", "Clock of the switch", base.HEX),
	switches = ProtoField.bytes("bolt.ctl.switches_tag", "Tag of switches"),
	tag	= ProtoField.bytes("bolt.ctl.tag", "Tag"),
	quote	= ProtoField.bytes("bolt.quote", "Quoted packet"),
	ip_src	= ProtoField.ipv4("bolt.quote.src", "Source"),
	ip_dst	= ProtoField.ipv4("bolt.quote.dst", "Destination"),
	ip6_src	= ProtoField.ipv6("bolt.quote.src6", "Source"),
	ip6_dst	= ProtoField.ipv6("bolt.quote.dst6", "Destination"),
	proto	= ProtoField.uint8("bolt.quote.proto", "Protocol", base.DEC, WITH_PORTS),
	sport	= ProtoField.uint16("bolt.quote.srcport", "Source port", base.DEC),
	dport	= ProtoField.uint16("bolt.quote.dstport", "Destination port", base.DEC),
	seq	= ProtoField.uint32("bolt.quote.seq", "Sequence number (TCP)", base.DEC),
	frame	= ProtoField.framenum("bolt.ctl.frame", "Answers the data packet in frame", base.NONE, frametype.REQUEST),
	time	= ProtoField.uint32("bolt.ctl.ns", "Time since that frame", base.UNIT_STRING, NS),
}

local function malformed(name, text)
	return ProtoExpert.new("bolt.ctl." .. name, "Bolt control message: " .. text, expert.group.MALFORMED, expert.severity.ERROR)
end

-- What a host refuses (include/bolt_msg.h), and what nobody should send
local X = {
	short	= malformed("short", "shorter than with the shortest quote, 28 bytes"),
	long	= malformed("long", "longer than with the longest quote, 128 bytes"),
	version	= malformed("bad_version", "unknown version"),
	type	= malformed("bad_type", "unknown type"),
	flags	= malformed("bad_flags", "unknown flags"),
	dscp	= malformed("bad_dscp", "DSCP above 63"),
	rate	= malformed("bad_rate", "the rate of the link is zero"),
	stamp	= malformed("bad_stamp", "SRC without t_data_tx"),
	target	= malformed("bad_target", "CNM without a rate to send at"),
	quote	= malformed("bad_quote", "the quote is not the head of a packet with ports, to the byte"),
	snap	= ProtoExpert.new("bolt.ctl.snap", "Bolt control message: cut off by the capture", expert.group.UNDECODED, expert.severity.NOTE),
}
ctl.fields = values(C)
ctl.experts = values(X)
ctl.prefs.port = Pref.uint("UDP port", CTL_PORT, "sysctl net.bolt.port of the hosts, port of sfc")

local function rate_text(kbit)
	return kbit >= 1e6 and string.format("%g Gb/s", kbit / 1e6) or string.format("%g Mb/s", kbit / 1e3)
end

-- Is there a segment routing header at AT with a last segment to go to? bolt_msg_has_segments()
local function has_segments(quote, at)
	local size, left, entries = quote(at + 1, 1):uint(), quote(at + 3, 1):uint(), quote(at + 4, 1):uint() + 1
	return quote(at + 2, 1):uint() == 4 and left > 0 and left <= entries and size >= 2 * entries and at + 8 + 8 * size <= quote:len()
end

-- Where the quoted packet's ports are, its protocol, and where its destination is, or nil: bolt_msg_read_quote()
local function quote_ports(quote)
	local size, version = quote:len(), quote(0, 1):bitfield(0, 4)
	local at, proto, dst
	if version == 4 then
		at, proto, dst = quote(0, 1):bitfield(4, 4) * 4, quote(9, 1):uint(), 16
		if at < 20 or quote(6, 2):bitfield(3, 13) ~= 0 then
			return nil
		end
	elseif version == 6 and size >= 40 then
		at, proto, dst = 40, quote(6, 1):uint(), 24
		while proto == 0 or proto == 43 or proto == 60 do
			if at + 8 > size then
				return nil
			end
			if proto == 43 and has_segments(quote, at) then
				dst = at + 8
			end
			proto = quote(at, 1):uint()
			at = at + 8 + 8 * quote(at + 1, 1):uint()
		end
	else
		return nil
	end
	if not WITH_PORTS[proto] or at + L4_QUOTE ~= size then
		return nil
	end
	return at, proto, version, dst
end

local ECHO_TX = " ns: t_data_tx of the quoted packet"

local function add_quote(quote, tree, pinfo, kind, stamp, stamp_item)
	local item = tree:add(C.quote, quote)
	local at, proto, version, to = quote_ports(quote)
	if not at then
		item:add_proto_expert_info(X.quote)
		return nil
	end
	local src, dst
	if version == 4 then
		src, dst = quote(12, 4), quote(to, 4)
		item:add(C.ip_src, src)
		item:add(C.ip_dst, dst)
		src, dst = src:ipv4(), dst:ipv4()
	else
		src, dst = quote(8, 16), quote(to, 16)
		item:add(C.ip6_src, src)
		item:add(C.ip6_dst, dst)
		src, dst = src:ipv6(), dst:ipv6()
	end
	local sport, dport = quote(at, 2):uint(), quote(at + 2, 2):uint()
	item:add(C.proto, proto)
	item:add(C.sport, quote(at, 2))
	item:add(C.dport, quote(at + 2, 2))
	if proto == 6 then
		item:add(C.seq, quote(at + 4, 4))
	end
	local text = tostring(src) .. ":" .. sport .. " → " .. tostring(dst) .. ":" .. dport
	item:set_text("Quoted packet: " .. text)
	if stamp ~= 0 then
		local answer = answer_of(pinfo, "ctl", flow_key(tostring(src), sport, tostring(dst), dport, stamp))
		add_answer(tree, answer, C.frame, C.time)
		if kind ~= SRC then
			-- only a packet with the option is found
			stamp_item:append_text(answer and ECHO_TX or ": t_data_tx in ns, or TSval of TCP without the option")
		end
	end
	return text
end

-- The fields behind the type; what the type has, for the column; and the item of the echo, of which a SRC says itself
-- that it is t_data_tx
local function add_numbers(tvb, tree, kind)
	local queue, rate = tvb(8, 4), tvb(12, 4):uint()
	local said = {}
	local stamp_item, stamp = tree:add(C.tx, tvb(4, 4)), tvb(4, 4):uint()
	if stamp == 0 then
		stamp_item:append_text(": the quoted packet had none")
	elseif kind == SRC then
		stamp_item:append_text(ECHO_TX)
	end
	if kind == SRC and stamp == 0 then
		stamp_item:add_proto_expert_info(X.stamp)
	end
	tree:add(({ [SRC] = C.src_queue, [BTS] = C.bts_queue, [CNM] = C.cnm_queue })[kind] or C.queue, queue)
	said[#said + 1] = "queue " .. queue:uint()
	local rate_item = tree:add(C.rate, tvb(12, 4))
	if rate == 0 then
		rate_item:add_proto_expert_info(X.rate)
	else
		rate_item:append_text(" (" .. rate_text(rate) .. ")")
		local ns = math.floor(queue:uint() * 8e6 / rate + 0.5)
		if ns < 2 ^ 32 then
			tree:add(C.drain, ns):set_generated()
		end
		said[#said + 1] = "at " .. rate_text(rate)
	end
	tree:add(C.switch, tvb(16, 4))
	if tvb:captured_len() >= CTL_HEAD + NUMBER_LEN then
		local number = tvb(CTL_HEAD, NUMBER_LEN)
		if kind == BTS then
			tree:add(C.pause, number)
			said[#said + 1] = "pause " .. string.format("%g us", number:uint() / 1000)
		elseif kind == CNM then
			local item = tree:add(C.target, number)
			said[#said + 1] = "send at " .. rate_text(number:uint())
			if number:uint() == 0 then
				item:add_proto_expert_info(X.target)
			end
		end
	end
	return table.concat(said, " "), stamp_item
end

local function add_head(tvb, tree, kind)
	local type_item = tree:add(C.type, tvb(1, 1))
	if not TYPES[kind] then
		type_item:add_proto_expert_info(X.type)
	end
	local flags = tree:add(C.flags, tvb(2, 1))
	for _, name in ipairs({ "cacheable", "cached", "tagged", "granted" }) do
		flags:add(C[name], tvb(2, 1))
	end
	if tvb(2, 1):uint() > 15 then
		flags:add(C.unknown, tvb(2, 1)):add_proto_expert_info(X.flags)
	end
	local dscp = tree:add(C.dscp, tvb(3, 1))
	if tvb(3, 1):uint() > 63 then
		dscp:add_proto_expert_info(X.dscp)
	end
end

function ctl.dissector(tvb, pinfo, tree)
	local sub = tree:add(ctl, tvb())
	local here, size = tvb:captured_len(), tvb:reported_len()
	pinfo.cols.protocol = "Bolt"
	if here < CTL_HEAD then
		sub:add_proto_expert_info(size < CTL_HEAD and X.short or X.snap)
		pinfo.cols.info = size < CTL_HEAD and "malformed: " .. size .. " bytes" or "cut off by the capture"
		return here
	end
	local version = sub:add(C.version, tvb(0, 1))
	if tvb(0, 1):uint() ~= CTL_VERSION then
		version:add_proto_expert_info(X.version)
		pinfo.cols.info = "version " .. tvb(0, 1):uint()
		return here
	end
	local kind = tvb(1, 1):uint()
	local name = TYPES[kind] or "type " .. kind
	add_head(tvb, sub, kind)
	local numbers, stamp_item = add_numbers(tvb, sub, kind)
	local text = name .. " " .. numbers
	local quote_at = CTL_HEAD + (kind == SRC and 0 or NUMBER_LEN)
	local tag_len = tvb(2, 1):bitfield(5, 1) * TAG_LEN
	local sent_len = tvb(2, 1):bitfield(7, 1) * (SENT_LEN + TAG_LEN)
	local quote_len = size - quote_at - sent_len - tag_len
	if quote_len < QUOTE_MIN then
		sub:add_proto_expert_info(X.short)
	elseif quote_len > QUOTE_MAX then
		sub:add_proto_expert_info(X.long)
	elseif here < size then
		sub:add_proto_expert_info(X.snap)
	elseif TYPES[kind] then
		local flow = add_quote(tvb(quote_at, quote_len), sub, pinfo, kind, tvb(4, 4):uint(), stamp_item)
		if flow then
			text = text .. ", " .. flow
		end
		if sent_len > 0 then
			local at = quote_at + quote_len
			sub:add(C.sent, tvb(at, 8))
			sub:add(C.clock, tvb(at + 8, 4))
			sub:add(C.switches, tvb(at + SENT_LEN, TAG_LEN))
		end
		if tag_len > 0 then
			sub:add(C.tag, tvb(size - tag_len, tag_len))
		end
	end
	sub:append_text(": " .. text)
	pinfo.cols.info = text
	return here
end

local registered

local function listen()
	local ports = DissectorTable.get("udp.port")
	if registered == ctl.prefs.port then
		return
	end
	if registered then
		ports:remove(registered, ctl)
	end
	registered = ctl.prefs.port
	if registered ~= 0 then
		ports:add(registered, ctl)
	end
end

ctl.prefs_changed = listen
listen()
