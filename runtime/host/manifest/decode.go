// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// reader collects what the documents hold.
type reader struct {
	set  Set
	errs []error
	seen map[string]Place
}

func (r *reader) file(name string, data []byte) {
	docs := split(name, strings.TrimPrefix(string(data), "\uFEFF"))
	if len(docs) > maxDocuments {
		r.errs = append(r.errs, fmt.Errorf("%s: may not hold more than %d documents", name, maxDocuments))
		return
	}
	for _, d := range docs {
		if blank(d.text) {
			continue
		}
		if err := r.document(d); err != nil {
			r.errs = append(r.errs, err)
		}
	}
}

// document reads one document. The values are those that kubectl would send; the node tree is for line numbers only.
func (r *reader) document(d document) error {
	data, err := sigsyaml.YAMLToJSONStrict([]byte(d.text))
	if err != nil {
		return d.syntax(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(d.text), &root); err == nil {
		d.root = &root
	}
	var head metav1.TypeMeta
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s: must be an object with apiVersion and kind", d.at(""))
	}
	switch {
	case head.Kind == "" || head.APIVersion == "":
		return fmt.Errorf("%s: must have apiVersion and kind", d.at(""))
	case head.APIVersion == "v1" && head.Kind == "Secret":
		return r.secret(d, data)
	case head.APIVersion == aalisv1alpha1.GroupVersion.String():
		return r.object(d, data, head.Kind)
	case strings.HasPrefix(head.APIVersion, aalisv1alpha1.GroupName+"/"):
		return fmt.Errorf("%s: apiVersion must be %s, got %s", d.at("apiVersion"), aalisv1alpha1.GroupVersion, head.APIVersion)
	}
	r.set.Notes = append(r.set.Notes, fmt.Sprintf("%s: left out: %s %s means nothing here", d.at("kind"), head.APIVersion, head.Kind))
	return nil
}

func (r *reader) object(d document, data []byte, kind string) error {
	switch kind {
	case aalisv1alpha1.KindAgentInstance:
		return add(r, d, data, kind, &r.set.Instances)
	case aalisv1alpha1.KindPlugin:
		return add(r, d, data, kind, &r.set.Plugins)
	case aalisv1alpha1.KindPersona:
		return add(r, d, data, kind, &r.set.Personas)
	case aalisv1alpha1.KindServicePreference:
		return add(r, d, data, kind, &r.set.ServicePreferences)
	case aalisv1alpha1.KindAuthorityPolicy:
		return add(r, d, data, kind, &r.set.AuthorityPolicies)
	case aalisv1alpha1.KindTenantPolicy:
		return add(r, d, data, kind, &r.set.TenantPolicies)
	case aalisv1alpha1.KindAgentReplica:
		r.set.Notes = append(r.set.Notes, fmt.Sprintf("%s: left out: AgentReplica is written by kernels, not by people", d.at("kind")))
		return nil
	}
	known := []string{
		aalisv1alpha1.KindAgentInstance, aalisv1alpha1.KindPlugin, aalisv1alpha1.KindPersona,
		aalisv1alpha1.KindServicePreference, aalisv1alpha1.KindAuthorityPolicy, aalisv1alpha1.KindTenantPolicy,
	}
	return fmt.Errorf("%s: %s", d.at("kind"), schema.UnknownName(fmt.Sprintf("unknown kind %q", kind), kind, known))
}

// object of the API, as add needs it.
type object[T any] interface {
	*T
	GetName() string
	GetNamespace() string
}

// add decodes an object strictly and appends it.
func add[T any, P object[T]](r *reader, d document, data []byte, kind string, to *[]T) error {
	var v T
	if err := d.strict(data, &v, kind, ""); err != nil {
		return err
	}
	if err := r.unique(d, kind, P(&v).GetNamespace(), P(&v).GetName()); err != nil {
		return err
	}
	*to = append(*to, v)
	return nil
}

// unique refuses an object that was there before, which kubectl would take as an update without a word.
func (r *reader) unique(d document, kind, namespace, name string) error {
	if name == "" {
		return fmt.Errorf("%s: %s: metadata.name: must be given", d.at("metadata"), kind)
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	key := kind + " " + namespace + "/" + name
	place := d.at("metadata.name")
	if before, ok := r.seen[key]; ok {
		return fmt.Errorf("%s: %s %s: declared before at %s", place, kind, name, before)
	}
	r.seen[key] = place
	r.set.docs[kind+" "+name] = d
	return nil
}

// strict decodes into v; unknown, repeated and ill-typed fields are errors with their lines.
func (d document) strict(data []byte, v any, kind, name string) error {
	title := strings.TrimSpace(kind + " " + name)
	problems, err := sigsjson.UnmarshalStrict(data, v)
	if err != nil {
		problems = append(problems, err)
	}
	var errs []error
	for _, p := range problems {
		path, text := explain(p)
		errs = append(errs, fmt.Errorf("%s: %s: %s", d.at(path), title, text))
	}
	return errors.Join(errs...)
}

var goType = regexp.MustCompile(`^json: cannot unmarshal (\S+)(?: .*)? into Go `)

// explain gives the path of a decoding error and says in words what is wrong.
func explain(err error) (path, text string) {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return typed.Field, fmt.Sprintf("%s: must be %s, got %s", typed.Field, jsonName(typed), article(typed.Value))
	}
	var field sigsjson.FieldError
	if errors.As(err, &field) {
		path = field.FieldPath()
	}
	text = err.Error()
	if m := goType.FindStringSubmatch(text); m != nil {
		return path, "has the wrong type: " + article(m[1])
	}
	return path, strings.TrimPrefix(text, "json: ")
}

// jsonName is a Go type in the words of YAML.
func jsonName(e *json.UnmarshalTypeError) string {
	if e.Type == nil {
		return "something else"
	}
	switch kind := e.Type.Kind().String(); {
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice", kind == "array":
		return "a list"
	default:
		return "an object"
	}
}

// article says what a JSON value is.
func article(value string) string {
	kind, _, _ := strings.Cut(value, " ") // a number comes with its digits, which may be a secret
	switch kind {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	default:
		return "a " + kind
	}
}

var lineForm = regexp.MustCompile(`line (\d+): ?`)

// syntax explains why a document is no YAML.
func (d document) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text, _, _ = strings.Cut(text, "\n")
	place := d.Place
	if line := d.tabLine(); line > 0 {
		place.Line = d.Line + line - 1
		return fmt.Errorf("%s: is indented with a tab; YAML allows only spaces there", place)
	}
	if m := lineForm.FindStringSubmatchIndex(text); m != nil {
		if n, convErr := strconv.Atoi(text[m[2]:m[3]]); convErr == nil {
			place.Line = d.Line + n - 1
		}
		text = text[:m[0]] + text[m[1]:]
	}
	return fmt.Errorf("%s: is not YAML: %s", place, text)
}

// tabLine is the first line of the document that is indented with a tab; 0 means none.
func (d document) tabLine() int {
	n := 0
	for line := range strings.Lines(d.text) {
		n++
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			return n
		}
	}
	return 0
}
