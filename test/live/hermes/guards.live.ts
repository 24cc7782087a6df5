/** Hooks that act, in the gateway of Hermes, which takes a second for a turn; where nobody answers, in a process of its own. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hermesGuardProtocol } from '../../../src/agents/hermes/guard-protocol.ts'
import { hookRecords } from '../../../src/agents/hook-records.ts'
import { type AnyHook, ask, block, inject, rewrite } from '../../../src/guards/index.ts'
import { type Claim, claims, GuardedReceiver } from '../guarded-receiver.ts'
import { hookspanFolder, hostNode, runHost } from '../live-host.ts'
import { asksFor, shell } from './answers.ts'
import { HermesGateway, type Prompt } from './gateway.ts'
import { type BareHome, bareHome, chat } from './hermes-home.ts'
import { type Answer, RefusingProxy, ScriptedModel } from './scripted-model.ts'

type Deciding = Pick<AnyHook, 'beforeTurn' | 'beforeTool' | 'afterTool' | 'afterTurn'>

/** What the hooks of the receiver say in the scene that is played. */
let says: { readonly transforms?: Deciding; readonly judges?: Deciding; readonly isStrict?: boolean } = {}
const delegating = (which: 'transforms' | 'judges', isStrict?: boolean): Deciding => {
  const now = (): Deciding =>
    isStrict === undefined || isStrict === (says.isStrict ?? false) ? (says[which] ?? {}) : {}
  return {
    beforeTurn: (event, ctx) => now().beforeTurn?.(event, ctx),
    beforeTool: (event, ctx) => now().beforeTool?.(event, ctx),
    afterTool: (event, ctx) => now().afterTool?.(event, ctx),
    afterTurn: (event, ctx) => now().afterTurn?.(event, ctx),
  }
}
const HOOKS: readonly AnyHook[] = [
  { name: 'transforms', decisions: ['rewrite', 'inject'], ...delegating('transforms') },
  // Time is left for the one behind it, which is to block where there is none.
  { name: 'judges', decisions: ['block', 'ask'], timeLimitMillis: 300, ...delegating('judges', false) },
  { name: 'strict', decisions: ['block'], onFailure: 'block', ...delegating('judges', true) },
]

let model: ScriptedModel
let proxy: RefusingProxy
let receiver: GuardedReceiver
let gateway: HermesGateway<BareHome>
let played = 0
let requests: string[] = []

beforeAll(async () => {
  model = await ScriptedModel.start()
  proxy = await RefusingProxy.start()
  gateway = await HermesGateway.startIn(
    async options => {
      const hermes = bareHome(options)
      const endpoint = { path: '/v1/hooks', host: '' }
      const about = { home: hermes.home, host: 'hermes', adapter: hookRecords, endpoint }
      receiver = await GuardedReceiver.start({ ...about, hooks: HOOKS, guards: 'open' })
      return hermes
    },
    { modelUrl: model.url, proxyUrl: proxy.url },
  )
})

afterAll(async () => {
  await gateway?.close()
  await receiver?.stop()
  await proxy?.close()
  await model?.close()
})

interface Scene extends Pick<Prompt, 'choice'> {
  readonly says: typeof says
  readonly answer: Answer
}

/** A turn of a session of its own. @returns what Hermes has answered */
async function guarded({ says: said, answer, choice }: Scene): Promise<string> {
  says = said
  requests = []
  played += 1
  model.play(request => {
    requests.push(JSON.stringify(request.body))
    return answer(request)
  })
  const { output = '' } = await gateway.run({ session: `guarded-${played}`, text: 'Do it', ...(choice && { choice }) })
  return output
}

const file = (name: string): string => join(gateway.hermes.home, name)
const claimed = new Set<Claim>()

/** @param shows what of the table of Hermes it shows */
function scene(name: string, shows: readonly Claim[], run: () => Promise<void>): void {
  for (const claim of shows) claimed.add(claim)
  test(`guards: ${name}`, run)
}

const once = (command: string): Answer => asksFor([shell(command)], 'Done.')

scene('a guard blocks a command', ['beforeTool block'], async () => {
  writeFileSync(file('kept.txt'), 'x')
  const beforeTool: Deciding['beforeTool'] = ({ tool }) =>
    tool.command?.startsWith('rm ') ? block('Files stay where they are.') : undefined
  await guarded({ says: { judges: { beforeTool } }, answer: once(`rm ${file('kept.txt')}`) })
  expect(existsSync(file('kept.txt'))).toBe(true)
  expect(requests.at(-1)).toContain('Files stay where they are.')
})

scene('a guard rewrites a command: what runs is the rewritten one', ['beforeTool rewrite'], async () => {
  const beforeTool: Deciding['beforeTool'] = ({ tool }) =>
    rewrite({ ...tool.arguments, command: tool.command?.replace('one', 'two') })
  await guarded({ says: { transforms: { beforeTool } }, answer: once(`touch ${file('made-one')}`) })
  expect([existsSync(file('made-one')), existsSync(file('made-two'))]).toEqual([false, true])
})

for (const [choice, runs] of [
  ['once', true],
  ['deny', false],
] as const) {
  scene(`a person is asked about what runs, and says ${choice}`, ['beforeTool ask', 'beforeTool rewrite'], async () => {
    const transforms: Deciding = {
      beforeTool: ({ tool }) => rewrite({ ...tool.arguments, command: tool.command?.replace('one', `by-${choice}`) }),
    }
    const judges: Deciding = { beforeTool: () => ask(`Shall this run, ${choice}?`) }
    await guarded({ says: { transforms, judges }, answer: once(`touch ${file('one')}`), choice })
    expect([existsSync(file('one')), existsSync(file(`by-${choice}`))]).toEqual([false, runs])
  })
}

scene('a line is injected beside the prompt', ['beforeTurn inject'], async () => {
  const transforms: Deciding = { beforeTurn: () => inject('LINE-OF-THE-TURN') }
  await guarded({ says: { transforms }, answer: () => ({ text: 'Done.' }) })
  expect(requests[0]).toContain('LINE-OF-THE-TURN')
})

scene('a result is rewritten before the model sees it', ['afterTool rewrite'], async () => {
  const transforms: Deciding = { afterTool: ({ result }) => rewrite(String(result).replace('the-42', 'MASKED')) }
  await guarded({ says: { transforms }, answer: once('echo the-$((6*7))') })
  expect(requests.at(-1)).toContain('MASKED')
  expect(requests.at(-1)).not.toContain('the-42')
})

scene('a result is withheld: the model has the reason in its place', ['afterTool block'], async () => {
  const judges: Deciding = { afterTool: () => block('That is nobody’s business.') }
  await guarded({ says: { judges }, answer: once('echo the-$((6*7))') })
  expect(requests.at(-1)).toContain('That is nobody’s business.')
  expect(requests.at(-1)).not.toContain('the-42')
})

scene('an answer is rewritten before the person sees it', ['afterTurn rewrite'], async () => {
  const transforms: Deciding = { afterTurn: ({ answer }) => rewrite(answer.replace('Done', 'Well done')) }
  expect(await guarded({ says: { transforms }, answer: () => ({ text: 'Done.' }) })).toContain('Well done.')
})

const FAILING: Record<string, () => Promise<undefined>> = {
  throws: () => {
    throw new Error('broken')
  },
  rejects: () => Promise.reject(new Error('broken')),
  hangs: () => new Promise(() => undefined),
}

for (const [how, beforeTool] of Object.entries(FAILING)) {
  for (const isStrict of [false, true]) {
    scene(`a guard that ${how}, and is to ${isStrict ? 'block' : 'pass'} then`, [], async () => {
      const made = file(`${how}-${isStrict}`)
      await guarded({ says: { judges: { beforeTool }, isStrict }, answer: once(`touch ${made}`) })
      expect(existsSync(made)).toBe(!isStrict)
    })
  }
}

test('names the deciding guard in the trace', async () => {
  await gateway.close()
  const { trees } = await receiver.traces()
  // One that passed is there, too, where it took a while.
  expect(trees[0]).toMatch(
    /tool\.terminal OK \[hermes\.tool\.outcome=blocked\](?:\n +hook\.\w+ OK)*\n +hook\.judges OK/,
  )
  expect(trees[1]).toMatch(
    /tool\.terminal OK \[hermes\.tool\.outcome=completed\](?:\n +hook\.\w+ OK)*\n +hook\.transforms OK/,
  )
})

for (const guards of ['open', 'closed'] as const) {
  scene(`nobody listens, and it is ${guards}`, [], async () => {
    const hermes = bareHome({ modelUrl: model.url, proxyUrl: proxy.url })
    const program = join(hookspanFolder(), 'dist', 'cli', 'main.js')
    await runHost(hostNode(), [program, 'init', 'hermes', '--guards', guards], { home: hermes.home })
    // In the place of a file: so none is started.
    const place = join(hermes.home, '.local', 'state', 'hookspan', 'receiver')
    mkdirSync(join(place, 'starting'), { recursive: true, mode: 0o700 })
    const made = join(hermes.home, 'made')
    model.play(once(`touch ${made}`))
    await chat(hermes, 'Do it')
    expect(existsSync(made)).toBe(guards === 'open')
  })
}

test('guards: each decision that the table of Hermes claims was seen', () => {
  expect([...claimed].sort()).toEqual(claims(hermesGuardProtocol.capabilities))
})
