//! `{% generation %}`: transformers' own block around the model's reply.
//!
//! It marks the assistant's tokens and changes nothing in the text. minijinja has no such tag, so it
//! becomes `{% if true %}`, with the signs that trim whitespace kept.

/// The source with `generation` and `endgeneration` as `if true` and `endif`.
pub(super) fn without_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at + 2);
        out.push_str(before);
        rest = tag;
        let Some(end) = tag.find("%}") else { break };
        let signs: &[char] = &['-', '+'];
        let inner = &tag[..end];
        let word = inner.trim_matches(signs).trim();
        let instead = match word {
            "generation" => "if true",
            "endgeneration" => "endif",
            _ => continue,
        };
        out.push_str(&inner.replacen(word, instead, 1));
        rest = &tag[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_tags_are_rewritten() {
        let check = |source, expected| assert_eq!(without_tags(source), expected);
        check("a{%- generation -%}b{% endgeneration %}c", "a{%- if true -%}b{% endif %}c");
        check("{%generation%}", "{%if true%}");
        check(
            "{% if generation %}{{ 'generation' }}{% endif %}",
            "{% if generation %}{{ 'generation' }}{% endif %}",
        );
        check("{% generation", "{% generation");
        check("{% if a %}{% generation %}", "{% if a %}{% if true %}");
    }
}
