/** What hosts write around a prompt, or beside it as if the user had said it. */
const ADDED = [
  // Claude
  /<system-reminder>[\s\S]*?<\/system-reminder>/g,
  // OpenClaw: what is going on, when the prompt came, and what it says when it tries again.
  /<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>[\s\S]*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>/g,
  /^\[\w{3} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]*\] /,
  /^\[Queued user message from a previous active turn;[^\]]*\]\n/,
  /(?:^|\n\n)Continue the current task from the existing transcript,[\s\S]*$/,
  /\n\nRuntime: agent=.*$/,
]

/** A text of the user without that: nothing, where the user did not say any of it. */
export function bare(text) {
  return ADDED.reduce((rest, added) => rest.replace(added, ''), text).trim()
}
