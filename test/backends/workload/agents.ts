import {
  agentScript,
  type ChildScript,
  type RequestScript,
  type SessionScript,
  type ToolScript,
  type TurnScript,
} from '../../support/agent-script.ts'
import fc from '../../support/fast-check.ts'
import { START_AT } from '../../support/feed.ts'
import { runScript, type ScriptRun, type Step } from '../../support/script-run.ts'

/** Children's turns are counted, too. */
export const AGENT_TURNS = 200

/** Another seed is another workload. */
const SEED = 20_261_122
const SAMPLES = 150
const LIMITS = { sessions: 1, turns: 6, requests: 3, tools: 3, depth: 2, hasPoorHosts: false, hasGuards: false }

const TOOL: ToolScript = {
  name: 'terminal',
  hasId: true,
  outcome: 'ok',
  approval: 'none',
  approvalNamesSession: true,
  guard: 'none',
  child: undefined,
}
const REQUEST: RequestScript = {
  failures: 0,
  retryCount: 'told',
  starts: 'each',
  saysDuration: false,
  tokens: 1200,
  tools: [],
  parallel: 'no',
}
const TURN: TurnScript = {
  requests: [REQUEST],
  auxiliary: 'none',
  ending: 'completed',
  cut: 'between',
  rotates: false,
  background: 'none',
}

function session(...turns: readonly Partial<TurnScript>[]): SessionScript {
  const host = { starts: 'once', startNamesTurn: false, namesTurns: true, clock: 'ticks', pace: 97 } as const
  return { ...host, turns: turns.map(turn => ({ ...TURN, ...turn })) }
}

function request(parts: Partial<RequestScript>): RequestScript {
  return { ...REQUEST, ...parts }
}

function tool(parts: Partial<ToolScript>): ToolScript {
  return { ...TOOL, ...parts }
}

function delegation(mode: ChildScript['mode'], child: SessionScript): ToolScript {
  return tool({ name: 'delegate_task', child: { mode, session: child } })
}

/** What chance might leave out. */
function chosenSessions(): SessionScript[] {
  const work = session({ requests: [request({ tokens: 640, tools: [tool({ name: 'read_file' })] }), REQUEST] })
  const nested = session({ requests: [request({ tokens: 410, tools: [delegation('waited for', work)] })] })
  const parallel = [delegation('waited for', work), delegation('waited for', work), delegation('background', work)]
  const approvals = (['once', 'deny', 'once', 'unanswered'] as const).map(approval => tool({ approval }))
  const hopeless = { ending: 'failed', requests: [request({ failures: 3 })] } as const
  return [
    session({ requests: [request({ tools: parallel, parallel: 'first in first out' }), REQUEST] }),
    session({ requests: [request({ tools: [delegation('waited for', nested)] }), REQUEST] }, { rotates: true }),
    session(hopeless, { requests: [request({ failures: 2 })] }, hopeless),
    session({
      requests: [request({ tools: approvals }), request({ tools: approvals, parallel: 'last in first out' })],
    }),
    session({ auxiliary: 'around the loop' }, { auxiliary: 'failed in the loop' }, { auxiliary: 'before the loop' }),
  ]
}

function turnsOf(script: SessionScript): number {
  return runScript({ sessions: [script] }).fed.turns
}

function sessionsOfTurns(turns: number): SessionScript[] {
  const sampled = fc.sample(agentScript(LIMITS), { seed: SEED, numRuns: SAMPLES }).flatMap(({ sessions }) => sessions)
  const sessions: SessionScript[] = []
  let left = turns
  for (const script of [...chosenSessions(), ...sampled]) {
    const size = turnsOf(script)
    if (size > left) continue
    sessions.push(script)
    left -= size
  }
  return sessions
}

/** What some forty agents did, and their sub-agents: the same each time. */
export function agentsRun(): ScriptRun & { readonly sessions: number } {
  const sessions = sessionsOfTurns(AGENT_TURNS)
  return { ...runScript({ sessions }), sessions: sessions.length }
}

/** How much slower than the script's own clock: its steps are a few to 300 ms, a model takes seconds. */
const STRETCH = 6
/** Agents begin one after the other, and most of them are at work at once. */
const BEGIN_MILLIS = 8000

/** The steps of all lanes as they come in when each comes at its time. */
export function inTime(run: ScriptRun): { readonly step: Step; readonly at: number }[] {
  const timed = run.lanes.flatMap(lane => {
    const begin = beginOf(lane)
    let dueAt = 0
    return lane.map(step => {
      const at = begin + (step.at - START_AT) * STRETCH
      dueAt = step.glued ? dueAt : at
      return { step, at, dueAt }
    })
  })
  return timed.toSorted((a, b) => a.dueAt - b.dueAt)
}

/** The agent that it all started with is in the name of the lane: `s12.c1` is a child of `s12`. */
function beginOf(lane: readonly Step[]): number {
  const { session_id, turn_id, parent_session_id } = (lane[0]?.record.payload ?? {}) as Record<string, string>
  const [, agent] = /^s(\d+)/.exec(session_id ?? turn_id ?? parent_session_id ?? '') ?? []
  return Number(agent) * BEGIN_MILLIS
}
