import { peek, textOf } from '../contract/foreign.ts'
import type { ToolStart } from '../contract/index.ts'

/** That a tool call loaded a skill, and how we know. */
export interface SkillEvidence {
  readonly name: string
  readonly source: 'skill_view' | 'path_match'
  /** The path that told, where one did. */
  readonly path: string | undefined
}

const PATH_KEYS = ['path', 'file_path', 'target'] as const
const NAME_KEYS = ['name', 'skill', 'skill_name'] as const
/** Arguments that can tell of a skill. */
export const SKILL_KEYS: readonly string[] = [...PATH_KEYS, ...NAME_KEYS]
const NAME = /^[A-Za-z0-9_-]{1,100}$/
const LONGEST_PATH = 4096

/** `…/skills/<category>/<name>/SKILL.md` → name; `…/skills/<name>/…` → name. `optional-skills` is no `skills` segment. */
function nameInPath(path: string): string | undefined {
  if (path.length > LONGEST_PATH || !path.includes('skills')) return undefined
  const segments = path.split(/[\\/]/)
  const at = segments.lastIndexOf('skills')
  if (at < 0) return undefined
  const manifest = segments.lastIndexOf('SKILL.md')
  const name = manifest > at + 1 ? segments[manifest - 1] : segments[at + 1]
  return name !== undefined && NAME.test(name) ? name : undefined
}

function fromSkillView(args: unknown): SkillEvidence | undefined {
  for (const key of NAME_KEYS) {
    const given = textOf(peek(args, key))?.trim()
    if (given === undefined) continue
    const path = /[\\/]/.test(given) ? given : undefined
    const plain = given.slice(given.lastIndexOf(':') + 1).split(/[\\/]/)[0] ?? ''
    const name = (path && nameInPath(path)) ?? plain
    return NAME.test(name) ? { name, source: 'skill_view', path } : undefined
  }
  return undefined
}

function fromPath(args: unknown): SkillEvidence | undefined {
  for (const key of PATH_KEYS) {
    const path = textOf(peek(args, key))
    const name = path === undefined ? undefined : nameInPath(path)
    if (name !== undefined) return { name, source: 'path_match', path }
  }
  return undefined
}

/** Which skill a tool call loads, if any. */
export function skillOf(payload: ToolStart): SkillEvidence | undefined {
  return (payload.tool_name === 'skill_view' ? fromSkillView(payload.args) : undefined) ?? fromPath(payload.args)
}
