import { parse, stringify } from 'yaml'
import { text } from '../../observability/stack-files.ts'

interface Rules {
  readonly groups: { readonly rules: { expr: string; for?: string }[] }[]
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }
const DURATION = /\b(\d+)([smh])\b/g
/** 64 MiB of waiting spans are more than a test makes. */
const SPOOL_LIMIT = '67108864'
const LOWER_LIMIT = '60000'

/** The rules of `observability/rules.yml` with every minute a second, so that each can be seen to fire. */
export function hurriedRules(): string {
  const rules: Rules = parse(text('observability/rules.yml'))
  for (const rule of rules.groups.flatMap(group => group.rules)) {
    rule.expr = hurried(rule.expr).replace(SPOOL_LIMIT, LOWER_LIMIT)
    if (rule.for !== undefined) rule.for = hurried(rule.for)
  }
  return stringify(rules)
}

function hurried(words: string): string {
  return words.replace(
    DURATION,
    (_all, count: string, unit: string) => `${(Number(count) * (SECONDS[unit] ?? 1)) / 60}s`,
  )
}
