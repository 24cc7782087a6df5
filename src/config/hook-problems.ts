import type { Resolution } from './types.ts'

/**
 * What is wrong with what was said of hooks, a line each. A file that cannot be used may have said something of them, which would
 * count unless it is said elsewhere.
 */
export function hookProblems({ problems, broken, sources }: Resolution): string[] {
  const mayHaveSaid = sources.get('hooks')?.from === 'default' ? broken : undefined
  return problems.filter(({ key }) => /^hooks\b/.test(key) || key === mayHaveSaid).map(({ message }) => message)
}
