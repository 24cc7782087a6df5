import type { MatchLogic, ModelInfo } from '@pydantic/genai-prices'

/** Where a model is run, in the names of Bedrock. */
const REGION = /^(?:us|us-gov|eu|apac|au|ca|jp|sa|global)\./
/** What follows a name without making it another model: Bedrock's version, the long context of Claude, a date, the newest. */
const VERSIONS = [/-v\d{1,2}(?::\d{1,2})?$/, /\[1m\]$/, /[-@]\d{4}-?\d{2}-?\d{2}$/, /-latest$/]

/** A model's name without what only says which version of it. */
function bare(name: string): string {
  const lower = name.toLowerCase().replace(REGION, '')
  // `ft:BASE:organisation:name:id`: each base has one price.
  const base = lower.startsWith('ft:') ? lower.split(':', 2).join(':') : lower
  return VERSIONS.reduce((rest, version) => rest.replace(version, ''), base)
}

/** The names that a rule of the list looks for. */
function namesIn(rule: MatchLogic): string[] {
  if ('or' in rule) return rule.or.flatMap(namesIn)
  if ('and' in rule) return rule.and.flatMap(namesIn)
  if ('equals' in rule) return [rule.equals]
  if ('starts_with' in rule) return [rule.starts_with]
  return 'contains' in rule ? [rule.contains] : []
}

/** Whether a model of the list is the one that is named, and not one whose name only begins like it. */
export function isSameModel(name: string, { id, match }: ModelInfo): boolean {
  const wanted = bare(name)
  return [id, ...namesIn(match)].some(known => bare(known) === wanted)
}
