import type { HookInfo } from './create-hooks.ts'
import { PHASES, type Phase } from './phases.ts'
import type { Decision } from './verdict.ts'

const LAST_SECURITY_PRIORITY = 99

/** The decisions that a host supports, by phase. */
type Decisions = { readonly [P in Phase]?: readonly Decision[] }

/** Reports decisions that a host does not support, one line each. Runs when hooks are attached, before a decision is needed. */
export function impossible(hooks: readonly HookInfo[], host: string, able: Decisions): string[] {
  return hooks.flatMap(hook => {
    const lines: string[] = []
    const reached = hook.phases.filter(phase => able[phase] !== undefined)
    for (const phase of hook.phases) {
      if (able[phase] === undefined)
        lines.push(`hook ${hook.name} is never asked in ${phase}: ${host} has no such place`)
    }
    for (const decision of hook.decides) {
      const meant = reached.filter(phase => PHASES[phase].decisions.has(decision) && decidesIn(hook, phase, decision))
      const cannot = meant.filter(phase => !canIn(able, phase, decision))
      for (const instead of new Set(cannot.map(phase => insteadOf(decision, able, phase)))) {
        const there = cannot.filter(phase => insteadOf(decision, able, phase) === instead)
        lines.push(`hook ${hook.name} cannot ${decision} in ${there.join(', ')} of ${host}: ${instead}`)
      }
    }
    const open = reached.filter(phase => !canIn(able, phase, 'block'))
    if (hook.onFailure === 'block' && !hook.decides.includes('block') && open.length > 0)
      lines.push(`hook ${hook.name} cannot block in ${open.join(', ')} of ${host}: it goes on there when it fails`)
    if (hook.priority <= LAST_SECURITY_PRIORITY && hook.isFailureUnsaid && hook.decides.length > 0)
      lines.push(
        `hook ${hook.name} guards, and a failure of it lets everything pass: say onFailure "block", or "pass" if that is meant`,
      )
    return lines
  })
}

function decidesIn(hook: HookInfo, phase: Phase, decision: Decision): boolean {
  return hook.decidesIn[phase]?.includes(decision) === true
}

const INSTEAD: { readonly [D in Decision]: string } = {
  pass: 'it goes on there',
  ask: 'it goes on there',
  block: 'it goes on there',
  rewrite: 'nothing is changed there',
  inject: 'nothing is said there',
  retry: 'nothing is tried again there',
}

function insteadOf(decision: Decision, able: Decisions, phase: Phase): string {
  return decision === 'ask' && canIn(able, phase, 'block') ? 'it blocks there instead' : INSTEAD[decision]
}

export function canIn(able: Decisions, phase: Phase, decision: Decision): boolean {
  return able[phase]?.includes(decision) === true
}
