/**
 * The reasons why a sign-in by the provider ends, and the texts of its page. The log and the audit trail hold the
 * cause.
 */

export const REFUSALS = {
  provider_unreachable: {
    status: 503,
    title: 'The sign-in provider cannot be reached',
    remedy:
      'Try again in a minute. If it happens again, ask the operator of Assay to look into its log and at the sign-in provider.',
  },
  provider_refused: {
    status: 403,
    title: 'The sign-in provider did not sign you in',
    remedy:
      'Begin again. If it happens again, ask the operator of Assay: the log says what the provider answered.',
  },
  answer_invalid: {
    status: 403,
    title: 'The answer of the sign-in provider cannot be trusted',
    remedy:
      'Begin again, here and not from another page. If it happens again, ask the operator of Assay: the log says what is wrong with the answer.',
  },
  expired: {
    status: 400,
    title: 'This sign-in is over',
    remedy: 'It took longer than ten minutes, or it began in another browser or another window. Begin again.',
  },
  no_group: {
    status: 403,
    title: 'You have no access to Assay',
    remedy:
      'The sign-in provider knows you, but none of your groups opens Assay. Ask the operator of Assay which group to be in, then sign in again.',
  },
  groups_left_out: {
    status: 403,
    title: 'The sign-in provider left your groups out',
    remedy:
      'You are in more groups than it puts into one answer. Ask its administrator to send only the groups that are assigned to Assay.',
  },
  no_workspace: {
    status: 403,
    title: 'Your workspace does not exist',
    remedy:
      'ASSAY_OIDC_GROUPS leads your group to a workspace that does not exist. Ask the operator of Assay to create it.',
  },
  disabled: {
    status: 403,
    title: 'Your user is disabled',
    remedy: 'An admin of your workspace has disabled it. Ask there to enable it again.',
  },
} as const

export type RefusalCause = keyof typeof REFUSALS

export class SignInRefusal extends Error {
  readonly reason: RefusalCause
  /** The cause for the log, without secrets and tokens. */
  readonly told: string

  constructor(reason: RefusalCause, told = '', cause?: unknown) {
    super(REFUSALS[reason].title, cause === undefined ? undefined : { cause })
    this.reason = reason
    this.told = told
  }
}
