/** Replaces members of an object, whose class has private fields: a copy would not have them. */
export function overriding<Base extends object, Members extends object>(base: Base, members: Members): Base & Members {
  return Object.defineProperties(base, Object.getOwnPropertyDescriptors(members)) as Base & Members
}
