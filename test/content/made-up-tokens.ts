/** Pieces of secrets that look random and are the same in each run. */

const ALPHABET = 'q7Zk2mXv9RtB4nLs8WcJ5pHy3GdF6aTe1KuVo0QiMbNxYzPwCgDhEjErSfAU'

export function alnum(length: number, seed = 1): string {
  return Array.from({ length }, (_, at) => ALPHABET[(at * (seed * 2 + 5) + seed * 11) % ALPHABET.length]).join('')
}

export function hex(length: number, seed = 1): string {
  return Array.from({ length }, (_, at) => '0f1a9c3e7b5d2846'[(at * (seed * 2 + 1) + (at >> 3) + seed) % 16]).join('')
}

export function upper(length: number, seed = 1): string {
  return Array.from({ length }, (_, at) => 'Q2R7LKZ4XWBN5TJ3V6YHMGPD'[(at * 5 + seed + (at >> 4)) % 24]).join('')
}
