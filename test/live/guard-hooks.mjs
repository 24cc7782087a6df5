/**
 * A hook for each thing that there is to decide, by `phase decision`, and one that fails in each way. Put before the programs
 * of the live tests; every agent is given the same.
 */
import { ask, block, createHooks, inject, retry, rewrite } from 'hookspan/hooks'

const isRm = ({ tool }) => tool.command?.startsWith('rm ') === true
const firstTime =
  verdict =>
  ({ attempt }) =>
    attempt === 0 ? verdict : undefined
const LINE = 'The injected line.'
const REFUSED = 'Refused by the guard.'

const GUARDS = {
  'beforeTurn block': { beforeTurn: () => block(REFUSED) },
  'beforeTurn rewrite': { beforeTurn: ({ prompt }) => rewrite(prompt.replace('What is up?', 'Is it raining?')) },
  'beforeTurn inject': { beforeTurn: () => inject(LINE, 'user') },
  'beforeTurn inject system': { beforeTurn: () => inject(LINE, 'system') },
  'afterTurn block': { afterTurn: () => block(REFUSED) },
  'afterTurn rewrite': { afterTurn: ({ answer }) => rewrite(`${answer} (checked)`) },
  'afterTurn retry': { afterTurn: firstTime(retry({ feedback: 'Look once more.' })) },
  'beforeModel block': { beforeModel: () => block(REFUSED) },
  'beforeModel rewrite': {
    beforeModel: ({ messages }) =>
      rewrite(messages.map(each => ({ ...each, text: each.text.replace('What is up?', 'Is it raining?') }))),
  },
  'beforeModel inject': { beforeModel: () => inject(LINE, 'user') },
  'beforeModel inject system': { beforeModel: () => inject(LINE, 'system') },
  'afterModel block': { afterModel: () => block(REFUSED) },
  'afterModel rewrite': { afterModel: ({ text }) => (text === '' ? undefined : rewrite(`${text} (checked)`)) },
  'afterModel retry': { afterModel: firstTime(retry({ feedback: 'Look once more.' })) },
  'beforeTool block': {
    beforeTool: event => (isRm(event) ? block(REFUSED, { detail: 'rm is not for agents' }) : undefined),
  },
  'beforeTool rewrite': {
    beforeTool: event =>
      isRm(event) ? rewrite({ ...event.tool.arguments, command: 'echo kept > rewritten.txt; echo kept' }) : undefined,
  },
  'beforeTool ask': { beforeTool: event => (isRm(event) ? ask('May it delete?') : undefined) },
  'afterTool block': { afterTool: () => block(REFUSED) },
  'afterTool rewrite': { afterTool: () => rewrite('The rewritten result.') },
  'afterTool retry': { afterTool: firstTime(retry()) },
  throws: {
    beforeTool: () => {
      throw new Error('broken by the test')
    },
  },
  rejects: { beforeTool: async () => Promise.reject(new Error('broken by the test')) },
  hangs: { beforeTool: () => new Promise(() => undefined), timeLimitMillis: 50 },
  nonsense: { beforeTool: () => ({ decision: 'perhaps' }) },
}

const DECISIONS = ['block', 'rewrite', 'inject', 'ask', 'retry']

/** A person is asked about what runs: a rewrite before the question. */
const REWRITES = {
  name: 'rewriter',
  onFailure: 'block',
  decisions: ['rewrite'],
  beforeTool: event => (isRm(event) ? rewrite({ ...event.tool.arguments, command: 'rm other.txt' }) : undefined),
}

/** @param guard a name of the above; `onFailure` what its failure means */
export function hooksOf({ guard, onFailure, rewritesFirst }) {
  const decisions = DECISIONS.filter(each => guard.split(' ').includes(each))
  const hook = {
    name: 'guard',
    priority: 10,
    onFailure: onFailure ?? 'block',
    decisions: decisions.length > 0 ? decisions : ['block'],
    ...GUARDS[guard],
  }
  return createHooks([hook, ...(rewritesFirst ? [REWRITES] : [])])
}
