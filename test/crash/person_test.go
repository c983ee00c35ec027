// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
)

// person asks the bot one question after the other in a session of their own.
type person struct {
	name      string
	random    *rand.Rand
	questions []*question
}

// session is the id under which the bot remembers the conversation.
func (p *person) session() string { return "openai:" + userID + ":" + p.name }

// think makes up the next question: every third has the model call tools.
func (p *person) think() *question {
	n := len(p.questions)
	words := make([]string, 3+p.random.IntN(20))
	for i := range words {
		words[i] = fmt.Sprintf("word%d", p.random.IntN(1000))
	}
	said := fmt.Sprintf("answer %d of %s: %s", n, p.name, strings.Join(words, " "))
	q := &question{text: fmt.Sprintf("question %d of %s\n#say %s", n, p.name, said), reply: said}
	if p.random.IntN(3) == 0 {
		q.calls = 1 + p.random.IntN(3)
		q.text += strings.Repeat("\n#tool "+toolName+" {}", q.calls)
	}
	p.questions = append(p.questions, q)
	return q
}

// ask asks a question and keeps track of how far it came. Without an error it was answered as it should be.
func (p *person) ask(ctx context.Context, door string, q *question) error {
	body, err := json.Marshal(map[string]any{
		"model": botName, "stream": true, "user": p.name, "messages": []any{map[string]any{"role": "user", "content": q.text}},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+door+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := httpClient().Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if notice := resp.Header.Get("X-Aalis-Notice"); resp.StatusCode != http.StatusOK || notice != "" {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("status %d, notice %q: %s", resp.StatusCode, notice, text)
	}
	text, err := q.listen(resp.Body)
	if err != nil {
		return err
	}
	whole := text == q.reply || q.calls > 0 && strings.HasPrefix(text, q.reply) && q.answeredBy(text)
	if !whole {
		return fmt.Errorf("wrong answer to %q: %q", q.text, text)
	}
	return nil
}

// listen reads an answer to its end.
func (q *question) listen(body io.Reader) (string, error) {
	var text strings.Builder
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			q.state = answered
			return text.String(), nil
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil || len(chunk.Choices) == 0 || chunk.Error != nil {
			return "", fmt.Errorf("chunk %q: %w", data, err)
		}
		text.WriteString(chunk.Choices[0].Delta.Content)
		if text.Len() > 0 && q.state < acknowledged {
			q.state = acknowledged
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", io.ErrUnexpectedEOF
}
