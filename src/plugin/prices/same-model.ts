import type { MatchLogic, ModelInfo } from '@pydantic/genai-prices'

/** Region prefix of Bedrock's model names. */
const REGION = /^(?:us|us-gov|eu|apac|au|ca|jp|sa|global)\./
/** Suffixes that do not make it another model: Bedrock's version, Claude's long context, a date, `latest`. */
const VERSIONS = [/-v\d{1,2}(?::\d{1,2})?$/, /\[1m\]$/, /[-@]\d{4}-?\d{2}-?\d{2}$/, /-latest$/]

function bare(name: string): string {
  const lower = name.toLowerCase().replace(REGION, '')
  // `ft:BASE:organisation:name:id`: each base has one price.
  const base = lower.startsWith('ft:') ? lower.split(':', 2).join(':') : lower
  return VERSIONS.reduce((rest, version) => rest.replace(version, ''), base)
}

function namesIn(rule: MatchLogic): string[] {
  if ('or' in rule) return rule.or.flatMap(namesIn)
  if ('and' in rule) return rule.and.flatMap(namesIn)
  if ('equals' in rule) return [rule.equals]
  if ('starts_with' in rule) return [rule.starts_with]
  return 'contains' in rule ? [rule.contains] : []
}

/** True if the listed model has this name, not only a common prefix. */
export function isSameModel(name: string, { id, match }: ModelInfo): boolean {
  const wanted = bare(name)
  return [id, ...namesIn(match)].some(known => bare(known) === wanted)
}
