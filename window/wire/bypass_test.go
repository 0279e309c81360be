package wire

import "testing"

// Why a request is no whole history, over the dialects, and what follows from it.
func TestBypass(t *testing.T) {
	const (
		user  = `{"role":"user","content":"x"}`
		block = `{"role":"assistant","content":[{"type":"compaction","content":"s"},{"type":"text","text":"t"}]}`
		empty = `{"role":"assistant","content":[{"type":"compaction","content":null}]}`
		item  = `{"type":"compaction","encrypted_content":"eA=="}`
	)
	for _, tt := range []struct {
		dialect Dialect
		body    string
		want    Bypass
		partial bool
		whole   bool
		room    Room
		msg     int // of the edge
		part    int
		unread  int
	}{
		{Chat, `{"messages":[` + user + `]}`, 0, false, true, RoomAtTrigger, 0, 0, 0},
		{Chat, `{"compaction":{"type":"summarize"},"messages":[` + user + `]}`, 0, false, true, RoomAtTrigger, 0, 0, 0},
		{Responses, `{"previous_response_id":"r","input":"x"}`, Stored, true, false, RoomAtLimit, 0, 0, 0},
		{Responses, `{"previous_response_id":null,"conversation":"c","input":"x"}`, Stored, true, false, RoomAtLimit, 0, 0, 0},
		{Responses, `{"input":[{"type":"item_reference","id":"i"},` + user + `]}`, Referenced, true, false, RoomAtLimit, 0, 0, 0},
		{Responses, `{"input":[` + user + `,` + item + `,` + user + `]}`, Compacted, true, false, RoomAtLimit, 1, 1, 0},
		{Responses, `{"input":[` + item + `,` + user + `,{"type":"compaction_summary","content":"s"}]}`, Compacted, true, false, RoomAtLimit, 2, 1, 0},
		{Responses, `{"input":[` + user + `,{"type":"compaction_trigger"}]}`, Compacting, false, false, RoomNever, 0, 0, 0},
		{Responses, `{"context_management":[{"type":"compaction","compact_threshold":9}],"input":[` + item + `,` + user + `]}`, Compacting | Compacted, true, false, RoomNever, 0, 1, 0},
		{Responses, `{"compact_ahead":true,"input":"x"}`, Compacting, false, false, RoomNever, 0, 0, 0},
		{Responses, `{"compact_ahead":false,"input":"x"}`, 0, false, true, RoomAtTrigger, 0, 0, 0},
		{Messages, `{"messages":[` + block + `,` + user + `]}`, Compacted, true, false, RoomAtLimit, 0, 1, 0},
		{Messages, `{"messages":[` + user + `,` + block + `,` + user + `]}`, Compacted, true, false, RoomAtLimit, 1, 1, 1},
		{Messages, `{"messages":[` + user + `,` + block + `,` + user + `,` + empty + `,` + user + `]}`, Compacted, true, false, RoomAtLimit, 1, 1, 1},
		{Messages, `{"messages":[` + user + `,` + empty + `,` + user + `]}`, 0, false, true, RoomAtTrigger, 0, 0, 0},
		{Messages, `{"messages":[` + user + `],"compaction":{"type":"summarize"}}`, Compacting, false, false, RoomNever, 0, 0, 0},
		{Messages, `{"messages":[` + user + `],"compaction":null}`, 0, false, true, RoomAtTrigger, 0, 0, 0},
		{Messages, `{"messages":[` + user + `],"context_management":{"edits":[{"type":"compact_20260112"}]}}`, Compacting, false, false, RoomNever, 0, 0, 0},
		{Messages, `{"messages":[` + user + `],"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}}`, 0, false, true, RoomAtTrigger, 0, 0, 0},
		{Messages, `{"messages":[` + block + `,{"role":"user","content":"Your task is to create a detailed summary of the conversation"}]}`, Compacted | Summarising, true, false, RoomNever, 0, 1, 0},
		{Messages, `{"messages":[{"role":"user","content":"Your task is to create a detailed summary of the conversation"}]}`, Summarising, false, true, RoomNever, 0, 0, 0},
		{Gemini, `{"cachedContent":"c","contents":[{"parts":[{"text":"x"}]}]}`, Referenced, true, false, RoomAtLimit, 0, 0, 0},
	} {
		r, err := Parse(tt.dialect, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
			continue
		}
		b := r.Bypass
		if b != tt.want || b.Partial() != tt.partial || b.Whole() != tt.whole || b.Room() != tt.room {
			t.Errorf("%s: %q, partial %v, whole %v, room %d; want %q, %v, %v, %d", tt.body, b, b.Partial(), b.Whole(), b.Room(), tt.want, tt.partial, tt.whole, tt.room)
		}
		if msg, part := r.Edge(); msg != tt.msg || part != tt.part || r.Unread() != tt.unread {
			t.Errorf("%s: the edge is at %d.%d, %d are not read; want %d.%d, %d", tt.body, msg, part, r.Unread(), tt.msg, tt.part, tt.unread)
		}
	}
}
