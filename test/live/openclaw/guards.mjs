/** What a plugin with guards has before its `register`. Behind the line that imports `hookspan`. */
const commandOf = ({ tool }) => tool.command ?? ''
const startsWith = (text, say) => event => (commandOf(event).startsWith(text) ? say(event) : undefined)

const WAYS = {
  throws: () => {
    throw new Error('broken by the test')
  },
  rejects: async () => Promise.reject(new Error('broken by the test')),
  hangs: () => new Promise(() => undefined),
  nonsense: () => ({ decision: 'perhaps' }),
}
const broken = Object.entries(WAYS).flatMap(([way, fail]) =>
  ['pass', 'block'].map(onFailure => ({
    name: `${way}-${onFailure}`,
    onFailure,
    timeLimitMillis: 50,
    beforeTool: startsWith(`touch ${way}-${onFailure}`, fail),
  })),
)
const guard = { name: 'guard', onFailure: 'block', priority: 10 }

export const GUARDS = {
  tools: [
    {
      ...guard,
      decisions: ['rewrite'],
      beforeTool: startsWith('echo original', ({ tool }) =>
        rewrite({ ...tool.arguments, command: 'echo kept > rewritten.txt; echo kept' }),
      ),
      afterTool: startsWith('echo secret', () => rewrite('The rewritten result.')),
    },
    {
      ...guard,
      name: 'no-rm',
      beforeTool: startsWith('rm ', () => block('Refused by the guard.', { detail: 'rm is not for agents' })),
    },
    {
      ...guard,
      name: 'lines',
      decisions: ['inject'],
      beforeTurn: () => inject('The injected line.'),
    },
    { ...guard, name: 'rules', decisions: ['inject'], beforeTurn: () => inject('The injected rule.', 'system') },
    ...broken,
  ],
  turns: [{ ...guard, beforeTurn: () => block('Refused by the guard.') }],
  goesOn: [
    {
      ...guard,
      name: 'once-more',
      decisions: ['retry'],
      afterTurn: ({ attempt }) => (attempt === 0 ? retry({ feedback: 'Look once more.' }) : undefined),
    },
  ],
  asks: [
    {
      ...guard,
      name: 'rewriter',
      decisions: ['rewrite'],
      beforeTool: startsWith('rm victim.txt', ({ tool }) => rewrite({ ...tool.arguments, command: 'rm other.txt' })),
    },
    { ...guard, decisions: ['ask'], beforeTool: startsWith('rm ', event => ask(`May it ${commandOf(event)}?`)) },
  ],
}
