package stress

import "testing"

// FuzzAnswers: whatever a server answers is judged, and a page that is taken for good has
// the items that it says.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"items":[{"name":"a"}],"pagination":{"page":1,"page_size":20,"total_items":1,"total_pages":1,"showing_from":1,"showing_to":1}}`, 1)
	f.Add(`{"results":{"clusters":[{"name":"a"}]},"total_matches":21,"pagination":{"page":2,"page_size":20,"total_items":21,"total_pages":2,"has_prev":true,"showing_from":21,"showing_to":21}}`, 2)
	f.Add(`{"error":"the search matches 2000 objects","total_matches":2000,"suggestion":"narrow it"}`, 1)
	f.Add(`{"pagination":{"page":9223372036854775807,"page_size":9223372036854775807,"total_items":-1}}`, 3)
	f.Fuzz(func(t *testing.T, text string, number int) {
		if total, problem := parseTooMany(text, 1000); problem == "" && total <= 1000 {
			t.Fatalf("%s was taken for a refusal of %d matches", text, total)
		}
		p, err := parsePage(text, max(1, number))
		if err != nil {
			return
		}
		if n := len(p.rows()); n > p.Pagination.PageSize || n > p.total() {
			t.Fatalf("%d items on a page of %d, of %d", n, p.Pagination.PageSize, p.total())
		}
		for _, r := range p.rows() {
			_, _ = r.key()
		}
	})
}
