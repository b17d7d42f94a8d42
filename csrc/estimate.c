/* estimate.c - how many tokens a byte-level BPE vocabulary makes of a text, without the vocabulary.
 *
 * The rule. Every code point has one of 64 classes. Every pair of neighbours has a price, in 64ths of a token: how many
 * tokens begin, on average, at the second one when it stands behind the first. A text is taken to stand behind a
 * newline. The estimate is the sum of the prices, rounded to the nearest whole number (half up), and at least 1.
 *
 * Why pairs. Where words, identifiers and numbers fall apart shows in which characters meet, not only in how long a run
 * is; and a pair is priced without knowing what came before it, so that no step of the loop waits for another.
 *
 * The prices were fitted to the Qwen3 vocabulary; docs/token-counting.md says on what, and how far off they are. */
#include "hmem.h"

#include <string.h>

#include "codepoint.h"

/* One loop per width: `width` must be a constant where the code points are read. */
#if defined __GNUC__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline, cold))
#else
#define ALWAYS_INLINE inline
#define NEVER_INLINE
#endif

/* The small letters have a class each. CONTROL .. SIGN are ASCII, the rest is not. */
enum {
    CONTROL, TAB, NEWLINE, SPACE, DIGIT, LETTER_A, LETTER_B, LETTER_C,
    LETTER_D, LETTER_E, LETTER_F, LETTER_G, LETTER_H, LETTER_I, LETTER_J, LETTER_K,
    LETTER_L, LETTER_M, LETTER_N, LETTER_O, LETTER_P, LETTER_Q, LETTER_R, LETTER_S,
    LETTER_T, LETTER_U, LETTER_V, LETTER_W, LETTER_X, LETTER_Y, LETTER_Z, UPPER,
    QUOTE, OPEN, CLOSE, COMMA, STOP, COLON, DASH, UNDERSCORE,
    SLASH, OPERATOR, SIGN, LATIN_SIGN, LATIN, GREEK, CYRILLIC, MIDEAST,
    INDIC, MARK, PUNCTUATION, SYMBOL, BOX, CJK_SIGN, HIRAGANA, KATAKANA,
    HANGUL, HAN_COMMON, HAN_SECOND, HAN_RARE, WIDE, EMOJI, OTHER, ASTRAL,
    CLASSES
};
_Static_assert(CLASSES == 64, "the price table has 64 rows of 64");

/* The classes of the pages of 256 code points that text is mostly made of: U+0000, U+2000, U+3000, U+FF00, Cyrillic,
 * Hangul (one page stands for all) and, from U+4E00 to U+9FFF, Han: level 1 of GB 2312 is HAN_COMMON, its level 2 and
 * the frequent characters of Big5 are HAN_SECOND, the rest is HAN_RARE. One letter per code point, class + LETTER, as
 * price() takes it. */
enum { LETTER = '@' };
static const char classes[] =
    "@@@@@@@@@AB@@B@@@@@@@@@@@@@@@@@@Cd`jjii`abiicfdhDDDDDDDDDDecaibdj__________________________ahbig`EFGHIJKLMNOPQRS"
    "TUVWXYZ[\\]^aibi@kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkllllllllllllllllllllllllllllllll"
    "llllllllllllllllllllllllllllllllrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
    "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"
    "ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"
    "uuuuuuuuuuuuuuuuvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"
    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww~uuuuuuuuuuuuuuu"
    "||||||||||uuuuuuu||||||||||||||||||||||||||uuuuuu||||||||||||||||||||||||||uuuuuu~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
    "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
    "~~~~~~~~~~~~~~~~nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxyy{y{{{yyyyyzyy{zy{yyzy{yyyyyyzz"
    "{{y{yyzyz{yyzy{{y{y{y{z{yyyy{yyz{{{y{y{zyy{yyyyyy{yyy{y{yy{{zyyyyy{{{{y{{z{{{{{{yy{y{{{{{{{{{{y{{{z{{{y{yy{yyzyy"
    "{yyzyy{{zzyy{{zzzyy{yyyyyy{yyyy{{{yz{z{{{{yz{{{yyyzzzyyy{zyy{yy{{y{yyyyyyy{{{zzy{z{yyy{{z{yzy{{{y{yz{zyy{{{y{y{y"
    "{y{{{{{{{zyz{yyyyy{{{z{yyyyz{{yyy{z{yzyz{{yz{{{yy{z{y{y{y{y{yz{{{{{y{{yzz{{{{yyyyy{yzy{zzyzyyzzzy{{yzz{z{y{{y{{y"
    "y{{yzzz{{{zzz{zy{{{zy{z{yz{y{y{z{z{{z{zy{{{y{y{{y{{y{yyyyyz{z{yy{{{{{yzz{{{{{{{y{{zyyz{{{{y{{{zyyz{{{{{yy{z{zyyz"
    "zy{z{{z{zyz{{yyy{y{z{{{{z{y{{{z{z{{{{{z{{z{zzy{z{zy{y{z{yyy{z{{y{y{z{zy{zzyzzzz{{{{{{{{{{{y{y{y{{{{z{{{yzz{{z{zy"
    "{{{{{z{{{{y{y{{{{{{{{y{{{{{{zz{z{{{{zzyy{{zz{zzyy{{{{y{{y{{{{y{{{z{{{{z{zzz{{{{{{{zy{z{zyz{{yz{z{{yz{z{z{{zy{{z{"
    "{{{{{z{z{{{{{{zy{z{{{zz{{{y{{{{{{{{{{zzy{z{{zzz{{z{y{y{{{z{y{{{{z{z{zzzzzz{z{{{{z{y{zz{{z{{{{{{z{y{{{{{{{{z{{{{{"
    "{{zz{{{zz{{zz{{yzy{yyyyzyy{yzy{{{yz{yzzz{{y{y{{{{{y{{y{zyz{yyyz{yy{yyyyyyy{yyy{{yzz{{y{{yyz{yy{{{zy{{yzy{y{yy{{{"
    "y{z{yz{{{{zzy{{yyzyy{yyy{{{yzz{{y{{{y{yz{y{yyz{y{y{{{{{{{{{yzy{{yy{{y{{{{{{z{y{yyz{y{zy{yyyyzy{yyyzy{{yyz{y{{zz{"
    "{yy{{{zyyyyy{y{{y{{{yz{{yyzy{zy{y{{z{{yyyyyy{y{zzyyy{{{z{{yzzyz{yy{{y{y{{{{zzzz{{z{{{y{y{yy{{{{y{{y{zz{z{{{{{z{y"
    "{zzz{{{zyzz{{z{{zz{z{{{{{{{y{yyyyyzy{{{{yyyyzz{{{yyy{{{{{{{z{{zy{z{y{{{y{y{y{{{{z{y{{zzzyz{z{zzy{{zzy{z{{{{{{{{{"
    "z{{z{z{{zzyz{{yyy{{{{yy{y{{{{z{zz{{{{zyy{yz{{y{{yy{y{{z{{{y{{{zz{z{{{{{{{yyy{{zyzy{y{z{yyyy{{{yy{yyyzyyy{{y{y{yz"
    "yyyzy{zy{z{y{{zyyy{yyy{yyzzz{{{y{{y{yyy{{y{yyz{{{{{{{y{{y{y{{z{y{{yz{zy{yy{{{zz{{{z{{{z{{{{y{{{y{yyz{{{{yyyyyy{{"
    "{y{{y{yyyy{y{{{zy{zyyyy{zzyyyyyyyzyy{zyyyy{zyz{{{y{yy{z{yyyzyyyyyyzy{yzy{{{y{yyyyz{z{{yyyy{yyyyy{yzzyyz{yy{yy{y{"
    "y{zz{{y{y{yz{{z{y{zzzyzzyz{yy{{{{{y{z{z{y{{{{{{{{zzy{yzzy{{yyy{{y{z{z{y{{{{yy{yyy{y{zyy{{yzz{z{{{{{zz{zzyzzzyz{y"
    "{y{yz{{{y{{z{y{zyyz{y{yyyy{{zyyzzyzzzz{y{zz{zzzy{z{{{yyzyyy{{yy{{{yz{{{{{{y{yz{z{y{{{{yy{y{{{{{zyz{{z{{{{{{z{{{{"
    "z{zzy{{z{{z{y{yyzy{z{{{zz{{{z{yz{z{yy{y{{zy{{{{zz{{{{zzz{{{{z{zz{y{zyyyz{{y{zzy{{{{{{zzzy{{zy{z{yzyzy{{yzyyz{{{z"
    "{z{{z{{{yzz{yy{z{{{{{{{y{{zzz{z{{zzy{z{y{z{y{zz{{{{{zyzz{z{{zzz{{zzyz{z{{{z{yz{z{y{yzzz{z{zzz{{z{{zz{zzz{{{{{yz{"
    "zz{{{{z{zy{{zzyzz{{{z{zzy{{y{{zz{{{zz{{z{z{{zzzzzyy{y{y{{z{y{{{y{{{{{{{{{{{{zzy{{{{zz{{zzz{{z{{{{{z{zz{{yzyzy{{z"
    "{z{{z{y{zz{zz{{{z{{{{zzz{{{{{{yyz{{z{z{{{{{{{{{{{{{y{z{{z{{{{{zz{{{{z{zy{{{{y{{{zzz{{{{{zzy{z{{{{z{{z{{z{{yy{zyz"
    "yzy{y{{{{{zz{y{{yy{{yz{{{zy{{yyz{{{yz{y{yzzz{z{{{{zz{{z{z{{{z{{y{{{y{{{{yzz{zyzzy{{z{{{{{zyz{{y{y{z{{{{y{{y{zyyy"
    "yy{{{{{y{{yyzyyyyy{{y{y{zzyz{z{y{{{z{{zy{{{zz{{{{{yyyzz{{{{yz{{{{{yz{{{{{{{y{{{{zzyyz{yz{z{y{zy{{{z{z{{{z{{{{{{{"
    "{{yy{{{{{{{y{{yz{{z{yz{{zzz{{z{yy{{{z{{{{{{{{z{z{{{{z{{zzyy{{z{{z{y{{zyz{zzz{z{{{y{{{y{{{z{{{zz{zy{{y{{{{{y{{{{z"
    "yz{{zy{{{{{{{{{{{{{{z{{{{{zzyz{{{yz{y{{zy{z{{{y{{{z{{z{{{{{yzz{{{{{{{z{{{z{{{zz{zz{y{y{{{zz{{{{{{{yy{{{{{yz{z{yy"
    "{{{{{{z{yy{{{{z{{{{z{{{{{{{{z{z{{y{{{z{z{{{{{{z{{z{z{y{{zz{{{{zz{{z{y{{{{z{yy{yzy{{y{{y{{yz{{z{{{{z{y{{y{{{{{y{y"
    "{{{{zyy{{zy{y{{yz{z{zz{y{yyy{zyy{y{{y{{yyyy{z{z{{zz{y{{yyy{y{{yyzy{{yzyyz{z{{{{{y{y{{y{z{zz{{zz{{{{yy{y{yy{{{y{{"
    "{zyzy{yyy{y{{z{{{{yy{{yz{y{{{zz{{{{zzy{{yzzz{{yz{{zz{{{{{y{y{{z{{{{{{zy{{{zy{z{{yyzyy{{zz{y{yz{{{{{z{yz{y{z{y{{{"
    "{{{{{{{{{z{y{{{y{y{yyzzyzz{{z{{{{z{z{{{{y{{zy{{yy{{z{y{{{y{{{{{{{yz{z{y{{{{{z{{{zz{{{{y{{yz{{{{{{{{{{z{{{{y{{{{{"
    "{{z{{{zz{{y{{{{{{{{{yzyz{{z{{{{y{{{{{{{{{{{{{{{{{{y{{{{{{{yz{{{{{{{{{{{z{{z{{{{{{{zy{z{{z{{{zzz{{yy{{{{{{y{{y{{{"
    "{{z{z{zzz{{{z{{{zy{z{{z{{y{z{{{{{z{{{z{{{{{z{{{{{{{{{{{{zz{zz{{{{{{{{{zz{{{{{z{{{{{{z{{{{{z{{{{{z{z{z{{zz{{{{{{{"
    "z{{z{{{{{{{{{{{{yz{zyy{yyyzzyy{y{{zyyzy{{yyzz{{{yz{z{y{{z{y{{y{zzy{yzy{yyy{yy{{y{{{z{z{yyyyyyyy{yyyyyzy{{{yy{{z{"
    "y{{yyyy{zy{{{yyy{{y{yyyy{{{{y{{{y{yy{{{{{{{{{yyy{yz{zyzzyz{zz{z{z{{{{zz{yyyyy{{y{y{{y{yzzyyz{zzy{y{{yzy{y{y{zy{{"
    "{{z{yz{y{{{{z{{{{y{{z{{zyyyzyyyyyyy{{yz{yyyy{zyyzy{{{y{{zz{{zzy{yyzzzyz{z{{{z{zy{y{{{{{{{yz{{{{y{yy{{{{{z{{{zz{{"
    "zz{{y{zyzzzyz{{{{zzz{{{{{y{zzy{{{z{y{z{zy{{{{z{y{z{{z{{{{{{z{{{{{{z{{{{{{y{{{{{{{y{{zzy{y{y{{y{{y{{{z{z{{{{y{z{{"
    "{zzz{{zy{{{{{{y{{z{{y{yz{z{z{{z{{{z{z{zz{y{{{yz{{{{{z{{{{{{{{zz{{{{{{{{z{{zzy{{{z{{{{{{{z{{z{z{{{{{{{{{{{z{zz{{z"
    "{{{{z{{{{{{{{{{{{{z{z{{z{{{{{{{{{{{{z{{{{z{{{z{{{{{{{{{{{{{{{{{{{{{{{{{zz{z{zz{{{{{{{z{{{z{{{y{{{{z{z{z{{{{z{yy{"
    "{yy{{yyyyy{y{{yz{yyyy{{y{{{{{zy{{yyy{yy{y{{{y{{zyz{{zyy{yzyyyy{z{{{{{zyy{{{z{yy{{z{z{{zzy{{zzy{{z{yzzy{{{{{{y{{{"
    "{{{{zy{z{{{z{{zz{zyz{{{{{{{z{{{{{{yyy{y{yzzyyyzyz{{{y{yy{{yz{{{yyz{yyyzy{yy{y{yyz{{{{zyy{{{z{y{{{{{z{zyyyz{{{{z{"
    "{zz{z{{{zyy{{{{{{zzy{{y{{{zz{z{zz{zz{{{{z{z{z{{{{{{zz{yy{{y{{{zzyzyyy{{{z{yz{{{y{zzyzy{yy{{y{{{yy{{{{yyy{zz{{z{y"
    "{y{{{z{z{yy{z{{{z{{{{{z{z{z{z{z{z{yy{yzzzz{{{y{{{zy{yzy{{yyzyy{{yy{z{{{z{y{yy{{zyyz{yy{zyzyyz{{{yzy{{z{yyz{{z{z{"
    "zy{{{{{{zzy{zzy{{{{{{z{y{z{{zy{{{{{yzyy{{z{{yy{zzzz{{{zyyy{{{z{{yz{{z{{y{{zy{zz{{y{{{y{{z{{y{yzyyyyzzzz{{{z{{zyz"
    "{{y{yyy{{z{zyy{{yz{{{yzyyzyz{{{y{{{{{z{{{{{yz{{z{zzy{{z{{{{y{y{{y{y{{y{{{zz{{z{{{{yzyz{zyyzyyy{yy{{y{{y{zzzzyz{y"
    "{{{zyz{{{y{{zy{{{{z{y{z{{{zz{z{yy{{y{{y{y{{zyz{y{zy{zzz{y{{zyz{{{{{{{yzz{{yy{{{{{y{{{y{{z{z{yz{yyz{{{{yyyy{yzyyy"
    "yz{yz{y{{yyz{{{{zy{{{{z{yy{{{zzy{{z{{z{{{{yzz{{yz{{zy{zy{{{z{{{{{{{{z{{z{{{{{{zy{{{{z{{zy{zzyzy{{y{{{y{{z{z{{z{z"
    "{{yz{{{yy{{z{{z{y{{{{zzy{{{{z{z{{{z{{{{{{{zy{{y{zz{{z{{{{{z{{z{{{{{{z{{zyz{zz{z{{{z{{{zz{{{{{{y{{{y{{{{zyzyz{z{{"
    "{zy{z{{{{{{{{{{{{{{z{{y{{{{{{{{{{{z{{zzzz{z{z{zzz{{{{{z{y{yzyyyyyyy{{zyzy{yz{{{z{zz{zz{{{{y{z{y{z{zyy{zy{{{{{zzy"
    "yy{z{{{yzz{yzyy{{yyyy{{{y{{y{{{{{{{y{{yy{yzyyyyyy{{y{{y{{y{{y{yyy{{{y{z{{yy{{{{{{yyy{yyyy{yy{{{zyyy{yy{{y{{yy{{{"
    "{y{{{y{{{y{zyy{y{{y{yyyyyyzzyyy{y{yyy{yzyyzyy{{y{{yy{yyyyy{{yyzy{y{yy{zy{{{{yyyy{yy{{{{yzy{{{{y{{y{{{{y{{{yy{yyy"
    "yyzyyy{{y{yy{{{y{{z{{{{{{zy{{yz{{{yz{yy{{y{zyyyyy{{{{y{{{{{{{{yy{yyy{{{yzz{z{zy{{zz{{{yy{{zy{{{{y{yzz{{yyyz{y{zy"
    "y{y{{{y{yz{z{{{{yzyy{y{yyyy{zzz{z{{yz{{yy{y{z{z{z{{{z{z{{y{{{yzyy{y{{{y{{{zz{{z{zy{y{{{{{yy{{yz{{{z{y{z{zz{{{y{z"
    "yyy{{yz{{{{zzz{yy{{yy{zz{{{zy{y{zz{{{{z{{{y{yy{{{{{{z{z{{{y{{yzz{z{{yzyyy{y{{{{{{zz{y{{{y{{{{{zz{{{{{{{y{y{{{z{z"
    "{{{{{{{{yyzz{{{{{{y{zy{yz{{{{{{{zyyz{yz{{zz{{{y{{{z{yz{{{y{zyyy{y{zz{y{zz{zzy{zzzzy{zy{z{{zz{yy{z{y{z{{zz{z{{{y{"
    "z{z{z{y{{{{{zz{{zzz{z{{z{{zz{{z{y{{{{{z{{z{{{{{z{{y{z{{{yz{{zz{{{{{zzz{{{{zyz{zy{{{{zzy{zy{y{{yy{{{{{y{{yz{{y{{y"
    "{y{{zzyzzy{y{yy{{{yy{{y{{{{zy{{{y{y{yz{yz{{{{{{{{{zz{{{y{{{yy{{{zy{z{z{y{y{zy{{y{y{{yy{y{y{zzy{yy{{{{{{z{y{{zy{{"
    "{y{zzyz{{{{yz{zy{{z{{{zy{{{{{{{{y{y{{yyyyy{{yyzzzy{{{{yy{{y{{{{{z{yz{{yz{{z{y{yy{{{yyz{{{z{{{z{yy{{{zy{yy{{{{y{y"
    "{z{{zzz{{{{{y{y{{zzy{z{{{z{yy{{z{{yyzyzz{{y{{zzz{z{{y{y{y{{{{{yyy{{{y{yz{{y{{{y{{{y{z{{yzz{{zz{{{y{{{{yyz{{{{z{{"
    "{{z{{{{zz{{z{{y{{z{{y{{{zz{{{{z{{{{{z{zz{z{{{{{{{{{{{{z{{y{zzy{{z{{{{{z{{z{{z{{{y{yyy{{zzy{{y{yyy{{z{{{{yyzy{y{{"
    "z{{{yz{y{{{y{y{y{{{{{{zzy{yyyyzy{y{{yy{{{{y{{y{{y{yy{{y{zy{{z{yyyy{z{{yz{{{{y{zyyy{{{y{{yzz{{y{yyzzz{z{z{{{{z{yy"
    "{y{{y{{z{y{z{{{{y{{z{y{yz{y{yyz{{{yy{z{zz{yy{z{yz{{zzzyyz{{{{{{{{z{zy{{{{{{{{{{yyyyyy{{{zzz{yzy{y{z{{y{{{z{{y{{y"
    "zy{yyz{{{{{{{z{yz{{{{y{yyzzyz{zy{y{y{{yyz{{{{z{{{y{{{{{{{zy{{{{{{{zz{{{yyy{{yyz{zzyyzyy{yzz{y{z{yy{yyz{{{{{{{{{{"
    "zzzyzyzzyy{z{{{{{{{{z{yz{{{{{{{z{yzz{yy{{{{{{{{z{{{zz{{y{{{{{z{z{zy{{{yyy{{{{y{yyz{y{z{{{{{{{{{{y{z{z{{{{y{y{y{{"
    "{{y{{y{zy{y{{{{zy{{z{{{z{{{{{{y{zyz{{y{{{zyzz{{{{z{{{y{{{{{z{yy{z{y{{{{{{{{{{{{zz{{{z{{{{{{{{y{{y{{{z{{{{z{{{y{y"
    "{{z{{{{{{{z{{{{{{{{zy{{z{{yz{zy{z{{z{{z{z{{z{zz{{z{{{z{yzz{{y{{{z{y{z{yzzz{{{z{{{{{{yz{{z{{zy{{{{{{z{{zzy{{z{zz{"
    "{z{{y{{y{{{z{{{{{z{z{{{{{{zzzzz{y{{zz{{{{{{y{{{zz{{{{{{{z{{{{z{{{{zz{{{{{{{{{y{z{zz{{z{{{{y{{{{{{z{z{{{zzz{{{{zy"
    "{y{z{{{{z{y{{{{z{y{{{z{{zzz{{zz{{{{{z{{yz{{z{{{{z{{{{{{{zy{z{{{z{yz{{z{{{{{z{{{{{y{{{{{{{z{{z{z{y{{{y{{{{{{{{{z{"
    "zz{{z{{z{{{{z{{{z{zz{{{{{z{zy{zz{{{z{{{{z{{z{{{{{{zz{{{{{{{{{{{{{{{z{{{{{{zz{z{{{{{{{z{{{{{{z{{{{{{{{{{{{{zz{{{{"
    "{{{{z{{{{{z{{{{{z{{{{{z{{{{{{{{{yyyyz{{y{{{{{{{{{{y{{{{z{zy{{zy{{{{z{{zy{y{{y{z{z{{{{{{{{z{{z{{z{zyyyyyy{{y{{{{{"
    "{{z{{{{zzy{yy{{z{zzyz{yz{yyy{z{{{{zz{{y{z{zz{{{{{z{{z{{{{{z{{{zz{{zzyy{y{{z{z{{yzyz{{yz{{{{y{y{y{{yzyyyy{yzy{{{{"
    "{y{{{{{{{{zyz{{y{{{z{z{{{z{{{z{{{{{{{zzzz{{{{z{yzy{yyzy{zzzy{{{y{zyzz{yyyzzzz{yyy{zzyz{{y{{{{zz{yyy{{{zy{yz{{zz{"
    "y{{{zy{y{z{yzyyyyy{{y{{{zzy{{{{{y{y{z{z{{yz{{yy{{yyy{zz{yy{{zz{yz{zzz{z{zy{y{{{y{y{zyyyy{zyyzzy{{zzy{{{{yy{yyyyy"
    "{z{{yy{{{yy{y{{{z{{zzyzz{{{yz{y{zyyy{y{{y{yz{{zzyz{y{yzzz{zyyyz{{y{{z{{z{{{yz{z{{{y{{{{y{zzy{{y{{{{{{y{z{zyz{{z{"
    "{yyz{zz{zz{yyyy{{y{z{yyyz{yy{zyz{yzyz{{{{yy{z{z{z{{z{zy{{yy{z{yz{{{{y{{yyz{{z{{{{{y{{y{zyyz{y{y{{z{zzy{{{{{y{yzy"
    "zy{yy{yyyyyz{{zy{{y{{y{{y{{{z{{zy{{{yzyz{{{yy{{{{yz{{{y{yzz{{zz{zy{{y{z{z{zyy{y{{y{y{z{y{yzyz{{{{{{{{y{{{{y{zyz{"
    "yz{{y{zy{zzz{y{{yy{yyzz{{y{zzy{y{{z{y{{{y{y{{{z{{{{yz{{{{{z{{yz{{{{zz{y{y{{y{{{z{{{z{{{z{z{z{{zz{{z{{{{{{{{{{{yy"
    "{{{y{yz{{y{{{{{zy{{{{{z{z{{{yz{z{{y{{z{z{{yz{{{y{zz{z{yz{{yzzz{{{yz{zz{y{{{yz{{z{y{yyz{z{{y{{{yzzyz{yyy{yy{{z{{z"
    "{{z{y{{z{z{{{{zz{zy{{{y{{z{{{{{y{{{yyz{{{{{{{{{{y{zzz{{{{zzyzz{z{yzy{{z{z{{{{{yz{{{{{{zz{{{z{y{{{z{{z{{{y{{zy{yz"
    "z{z{z{y{{{{{{yyzz{z{z{{{z{z{z{{{z{{{y{z{yz{{zzy{{{{{{{{z{{{{y{{{zy{{z{zz{{{{{{{{{z{yz{z{{z{{{{{{yzzz{{{{{z{{{{{{"
    "{zy{{z{{z{{z{{zzzz{{z{{{{z{zz{zzzz{{{{{{{{z{{{z{{{{{{{z{{z{z{{{z{y{{{z{{z{zz{z{z{{{z{{{{z{{{{{{{z{z{{z{{{z{{{{z{"
    "{{{{{{{{{{{{y{{z{z{{{{{{z{{{{{z{{{{zz{{{{{{yzy{yy{{{{yy{y{{{yzyyz{{{{z{{{yy{{{y{{{y{yyz{{y{{zz{{{{{{z{{{{{{zyyyy"
    "{z{y{{{zyyzzyy{{zyyy{{{{y{z{{{{z{{{{{{{{yy{y{{{y{{{{y{yyzy{yyy{y{{{{{{{y{y{{{y{{{{{{{{{{{yy{{{{{z{{z{yz{zyy{z{{{"
    "{z{{{{y{{{{{{{{zyz{{{{y{{{{{{{{{{{{{{zz{{zz{y{y{{{{{{{z{{z{{z{y{{{{{yzzyzz{{z{y{{{zz{{{{z{z{{y{{{{{{y{{{{{y{{{{y"
    "{{z{y{{{zy{{{{{yz{{{{{{{z{{{y{{{{z{z{z{{{z{{{{z{{{{yz{{{zz{{{{y{z{z{zy{{{z{{z{{zz{{{{yzz{{{{zzz{{{{{z{{{zz{zz{z{"
    "{{{{{{y{{{{{{z{{z{{{{{{{{{{z{z{{{{{{{{{{z{y{yz{{zy{{{yyyyyzz{yzz{{{{{{zyy{{{yz{{{{z{{{z{zy{y{z{yzyy{{{zy{y{{{{zz"
    "{{y{zy{{{yy{{zzzyy{{z{{{{{yz{z{z{{z{{{z{{{{z{{{z{{z{{{{z{{{{yz{yz{{{z{yzzy{{{{{{zzyzy{{{y{{{{zz{y{z{{{{y{y{{{{y{"
    "yy{{{{{{zz{{yyyzyyzzz{{zyzzzyz{{{z{z{{{{{{z{{{y{{{{z{zyz{z{yyzz{{zz{{z{{{yyyz{y{{z{{y{zzzz{{{{yy{{{{zz{{{{{{{zz{"
    "z{z{{{{z{{{{{{{{z{{{{{{{z{{{zy{zz{z{{z{zz{zz{{z{z{{{y{zy{y{y{{z{{z{{{{y{{{{y{{{z{{z{{z{{zy{y{{zyy{yz{{{z{{zy{{{{"
    "z{z{{{{{zzy{{y{zyz{{{{{{{z{{{{z{y{{{{z{z{zz{{yz{{{z{{{{{{{{{{{z{{{{y{yy{{yz{{z{zy{{{{{{{{{zz{{{{{{y{{zz{z{z{z{zz"
    "z{{yyyy{{{z{y{{z{z{{{{{{{{{{{{{{{{{{{z{z{zyzz{yy{{{zz{{{{zz{{z{zy{{{{{yz{{{{{{z{zz{y{{{z{{{z{{z{z{{{{{{{z{{{z{zz"
    "{{{z{{zzzz{{{{{{z{{{{{{{{{z{{z{z{{{{{{{{{{z{{{{z{{z{z{z{{{z{y{z{z{yyy{y{{{{{{{yz{{{{z{yy{{{{{{{z{{{{y{{{{{{{zz{z"
    "{z{z{z{{yzy{y{{y{{z{{yz{yy{yzy{zyyyy{y{yy{zy{zz{z{{{{y{{z{{zy{zy{{{{y{{{{yzzyz{{{{z{{yy{{{yz{{{{z{z{y{z{yz{{{{{z"
    "{{{z{{yz{{zz{{{y{yz{z{zy{yy{{z{yzyzzyy{{{{{yz{yyzzyzzy{{zy{{yyy{{{zzzy{yyyy{{z{{{{y{yyz{yz{y{{y{z{yzz{zzz{yz{{{{"
    "yzzzy{{{{yz{z{{zzy{z{z{{{zzzzz{{z{{z{z{zzz{z{{{yzzz{yzyz{yyy{z{{z{{zyz{{y{z{z{zzz{zz{{z{{{{{yz{{{{z{z{z{z{{{z{zz"
    "{zzy{z{{{z{zz{zz{zz{{{{{y{{yzyy{{{y{y{yyz{{y{{z{{y{z{{y{{zz{{{{{{{{{z{{{{{{{{{y{zyz{z{{{{{z{{{{y{{yz{yy{y{y{{zyy"
    "yyy{y{yyy{{yz{zy{z{zzz{z{{z{{{yy{zy{y{{{yz{{y{y{{y{{z{{zzy{y{z{{{{{{{{{{{zz{{{{yy{z{{{z{yy{{{z{y{{{{{zyyz{y{y{z{"
    "yy{z{{{z{{{{{{{zzz{{{{{{{{zyz{z{{yzy{zy{z{zyy{{{{{{{{{{{{y{{{zzzz{{{yy{z{{{zzzy{{zy{{{{{{{{{{{zzz{z{{y{y{yy{yz{{"
    "z{{y{z{{{{{yzz{z{{{{{{{z{{{{{z{{{{{z{{{y{{zyz{{{{{yy{y{z{y{yzyyz{{{y{{z{z{{{{yyyzyy{{{{{{z{{yy{{{zy{y{yzz{y{zz{z"
    "z{{z{zzy{z{{zz{{y{z{y{{yyzzzz{y{y{{z{y{z{{{{z{z{z{y{{yzz{{{{{y{{{{{{{{{{{{zyyzyz{{{{{{{y{{{{y{{z{{{{{{{z{y{{yyy{"
    "{y{z{{{yy{zzz{{y{z{z{z{y{z{{{{{{yyzyy{{{{zz{z{y{{y{{{y{{{zyy{{{{y{{{zy{{{zz{{{{{{{{{{{{zy{{{z{{z{{z{z{{y{{y{{{{{"
    "{y{{{z{{{{{{{{z{{{{z{{{{{z{{{{z{{{{{z{z{{{zzz{{{{{{{z{{{{{yzy{y{zy{{{{zzyz{{{{{{z{{z{zyz{{zzzyyyz{z{{y{zy{{{{y{z"
    "{{{{{{{yy{z{{{{zzy{{yz{{{{z{{zzy{{{{{{{{{{z{{{{{{{{{{{zz{{z{{{z{{z{z{{{{{yzy{yyzyy{y{{y{zy{y{y{{{yy{{z{{y{{{{{{y"
    "{{{zy{yy{y{z{z{yy{{{{{{{y{{y{y{{y{zz{zz{z{{y{yy{{{{{z{{y{{y{z{zzy{{z{{{{{{{{{{z{{z{y{{{z{z{yyy{yz{{{{{y{{{{zzzz{"
    "{z{{{{{y{{{{{{{{zzz{{{{{{z{z{{{{z{{{y{yyzzy{{{{yzy{yy{z{z{{{{y{{{yy{{zyyy{{{yy{yz{{{{yz{zzz{zzzz{{{z{{{{{{z{{{{y"
    "{{{{zz{z{{zy{{{{{{{{{{y{{y{{{{yyy{{y{yz{{{{{{y{y{{{{{{z{{yz{{z{y{{{zz{y{z{zy{{{z{y{{yz{{{z{y{{z{z{{{zzy{y{zzy{z{"
    "{z{z{{{{z{y{y{z{{{{{{zzz{y{yzz{yyyy{y{y{z{zy{z{{z{z{{{{z{{{{{{z{{zz{{z{y{y{z{{y{y{{{zz{z{{{z{y{zz{{{yy{y{{{{zz{{"
    "zyz{{{zzzyzzzy{{{y{{z{{{z{{{{{{{zz{{z{yy{z{{z{{{{z{y{{{{{yzz{z{{zy{{zzz{{zz{{{y{{y{{{{{y{{{{z{z{{{{{{{{y{{{zzz{z"
    "{z{{{{z{{{{{{{zz{z{z{{zy{{zz{{{{{{{{{{{zz{{{{zzyzz{z{{{{{{{{zy{{z{{{{{{{{{{{{{{zz{{zzz{{{{{{z{z{{{zyz{{{{{{yzy{{"
    "{{{{{{{{{y{{{{{{{zy{{y{yy{{{zzzy{{z{yy{{{{y{{{y{{yzy{z{{{y{{zzy{{z{{{z{zz{y{zz{{{{{{{yyz{y{{yzzyy{z{{{{zz{{{{{{y"
    "z{{{{{{{z{{y{{z{z{z{zzzz{zyz{z{{z{{{zz{z{zzzz{{{yzy{{{{y{{{y{{zyzzzz{{{{{z{{z{{{z{zzz{z{{{{{{{{{z{{{{z{{{{{z{{z{"
    "{zz{{{z{z{{{{{y{zzzz{{{z{z{{{{{{{z{{{{{{{{{{{{{z{z{z{{{{{{{{z{z{z{z{{{z{{{{{zzz{zzz{zz{{z{zz{zzz{{{{{{{z{{z{{{{{"
    "{{z{{{{{zzz{{zz{z{{z{{{{zz{{z{{z{{z{z{{{{z{z{{{{{{{{{{{{zzz{{{{{zz{{{{{{{{{z{zz{{{{z{{{{{{{z{{zz{zz{zz{z{z{z{zzz"
    "{y{z{zzzz{{{{{{{{{z{zz{{{zz{{{z{{z{{{{{{{zzz{z{{{{{z{{{{{z{{zz{{{{y{{{{{{{{{z{{z{{{zz{z{{{{zz{{zyzyzyzyyzzyyyz{y"
    "zyyy{yyyyyy{{yzyzzzyyyyyyzyzzyyyzyyyzy{zyyyzyyyyzzyy{yyyzyyz{yzzyzzyyyzyy{zzyyzyyzzzyyyzzy{zzzyz{zzyyyyzyzyzzy{z"
    "yzzzzzzzyyzzzzyzzzzzyzz{y{y{{z{{{{z{zz{{z{{{z{{{yy{{zy{yz{y{{{{z{zy{{{{{zyy{{{y{zzy{zz{z{z{{{{z{{z{{{z{{z{yzy{y{"
    "{{{{y{{{{{y{{zyz{y{{y{{zzz{{{{{zz{z{{{z{zy{{zy{z{y{{{y{{{{z{y{z{{{z{yz{{y{{{{{{yyz{{{zz{{z{{{{z{yy{z{{{{{z{yy{{{"
    "yy{yzyz{{{{zyy{{yzz{zyzyyy{{z{{{z{z{{zzzzzy{{{{{{z{y{zyzy{{y{y{y{{yz{{z{{{yyyz{{{{z{y{z{y{y{{{z{{{{{{{{{{zy{{{{z"
    "zzzz{{zz{{{{{zzzz{{yyzyy{y{yy{{{{{{z{{y{y{yyzy{zyyy{yy{{{yyz{zyy{zy{z{{z{{y{zzyyyyzyz{y{{{{{yzy{{{{{{{yz{zyzyzy{"
    "{y{{zz{zzzzzzz{yyzzyz{y{y{y{zy{{{{y{{zy{zyy{{zzyyyzyz{y{z{y{{{z{{{{zz{{{{z{zz{{yzyz{{{z{yz{{{{y{{{{{{{y{z{yyz{z{"
    "yy{zyy{{{zz{{{{{z{{{{yzz{z{z{zy{yz{zz{{{zyyyzzyyy{z{{{{{z{y{{{{y{z{{{{{{y{zyyy{{z{{z{{z{yzz{{{{{{{{y{{{{{{zz{zzz"
    "yzyy{{y{{zz{zz{z{{{{{{{{z{z{{{{z{{zy{z{zz{y{zy{{{{{yy{{{{{zyy{z{yzz{zyyzzzz{yy{{z{y{y{{{{{{zy{yy{zzz{{{{z{yzyz{z"
    "yy{zzyyyzy{z{{z{{{{{z{{y{z{z{{{z{{{{{{{{yzz{{{{z{{{{{{z{z{{{{{zyyzyyz{{z{zy{{zyz{{y{z{{{z{zy{yzz{zy{{{{zzz{{yy{z"
    "{z{zzyy{zzzzyyzyzy{yz{{zzy{z{yz{{z{{z{{yz{zzzyzy{yzzyz{yz{{yz{yyzz{zzyyz{{{y{{{y{y{{z{{z{y{z{{{{{yyyyyzzzz{{z{yz"
    "{z{{zz{z{{zzz{{{{{{{{{{yy{{yyz{z{zzzzyy{yyz{z{{{z{{z{{yz{yz{{{{zyzy{y{{{{{yzz{zzzy{yyzzyzzzyzzzy{{{{{{{yz{{zzz{{"
    "{{{{{zy{{yz{{{y{{{zz{{z{z{{zz{z{z{z{{{{zzzzy{{{{zyyzz{zyzyz{zy{{zz{{{z{y{{y{y{{y{{{{z{z{z{{{yz{zyz{{{z{{{yz{{{{z"
    "zyy{z{{{zz{{{z{{{z{zy{zz{{zzyyyz{z{{{{{{z{{{zy{{{{{{yyzyy{{{z{{{{z{{{z{{z{{{zy{{{{{{{{z{{z{{{{{{{z{{{{{y{zzyz{{{"
    "{y{y{{z{{z{yyz{{{y{z{yzzz{z{{{{{{{y{{{{zzz{yz{z{z{{{{{{z{y{{y{z{{z{{{{{{{{{{{{{z{{y{z{{{yzz{zz{zzz{{y{z{{yzz{z{{"
    "zy{z{{y{{{{{{y{yz{{z{zz{{{{{y{z{z{{{{{{{{{{{z{{z{{{{{{z{{{{{z{{{{y{yz{{y{{y{{{{z{y{z{z{{{{{yyz{{{{{{{{{yzzzzyy{{"
    "{{{z{{{{zyy{{{{{{{{{{{z{{z{{{{z{{{{{z{{{zzz{{z{{{{z{y{{{{zzz{{y{{{{{yz{z{{z{{{{z{z{{z{{{{{{yz{{{{{{{z{z{zzy{{{zy"
    "z{{{{{{z{zz{{{{{{z{{{{{{{y{{{z{yy{{z{y{{{{{{zz{{{{{{yz{{{yz{{{{{{{{{{{{z{zzy{{{z{{{{{zzz{{zz{{{{{y{{{{zz{{z{{{{{"
    "{{{{{{{z{z{{{z{{{{{{{{{{y{{{z{{z{{{{{{{{{{{{{zyyyy{{zz{{{{yzz{yz{{z{{{{z{{{yz{z{{y{{{{{{{yzzzyyzyyy{{{{{{{yzyz{{"
    "{{{z{y{{{{{{yz{{{{{zy{{zzzz{z{{zzz{{zzz{{{z{{{{{y{{{z{yy{zyy{{zzzz{{y{{{zy{y{{zz{{{{y{{{{z{{{zy{yzzzz{{{zy{z{{y{"
    "y{yz{{zzzzz{{z{{{{yz{y{yy{z{y{z{{yzz{z{{{z{{{{z{{z{{z{{z{{{z{{zz{{{{{{{yzy{{z{y{{{{z{z{y{z{{{{{{z{{zzzz{z{{{{{z{"
    "z{{{y{y{z{{zzzz{{{zz{z{{z{{z{y{{{{{z{{{z{{{{{{zy{{z{{{{{z{{zzz{z{{{z{z{{{{yz{z{{z{{{{{z{z{zz{{{{{zzz{{{{{{{z{{{{"
    "z{{{{z{{{{z{z{zz{{z{{{{{{y{z{{z{{{{z{z{{{{z{{z{{{{{zzyz{{{{z{{{z{zyz{{{{{{{{{{{{{zz{{{z{{z{zz{{{y{{{zy{{{{{{yy{{"
    "{{{zy{{y{y{z{z{{{yzyzy{{yz{yy{z{y{z{{{{y{z{{{zzz{yz{yz{{z{{y{y{{{{y{{{y{{{{{y{z{{{z{z{{{{{{y{y{{{y{{{{{z{{{{z{{{"
    "{yy{{yz{{zz{{{z{{{z{yy{{zy{{zz{z{zzzyz{{z{{{{{{zzz{yy{{{yy{{zzz{{{y{{{{z{{z{{{{{y{yz{z{{{zzz{{{{{z{{{y{{{{yz{{{{"
    "z{z{z{z{z{{z{z{{{z{{y{{{{{{{{{{{{{{{{{z{{{{{{{zyz{{{z{z{{{z{z{{z{{z{{{{{{{{z{{{y{y{z{{y{{{{z{{{z{{{z{{z{{{{{z{{{"
    "{{{{{{z{{{z{z{{{{{z{{{{{{{z{{z{{zyy{yyyzyyzzz{zzzzy{z{z{{{z{z{z{{{{y{zy{{{{z{{{z{{{zz{{{z{{{z{{{y{zz{{{zz{z{z{zz"
    "zz{z{zzzz{{z{z{z{{zz{z{{{{z{{z{{{z{{z{z{{{zzz{z{{z{{{{z{z{{{{{{{z{{{zzz{{{{z{{z{z{zz{{z{zz{zzzz{zzzz{{{{{y{zz{{{"
    "{{{{{z{z{yy{zz{{{z{y{z{{z{z{{{z{zz{zzzzzz{z{{{{{z{z{{{z{{z{{z{{z{{z{z{{z{z{z{z{{{{z{{{z{{{{zz{{{{{{{{{zz{{{z{zz{"
    "{z{z{{zzz{z{z{z{zzz{z{{z{{z{{{z{z{{{{{{z{z{z{z{{z{{{{{z{z{{zz{{{{{{{{{{{{z{{{{{{{z{{{{z{{z{{{{zz{{{{{{{{zzz{z{{z"
    "{{{{{{y{{{{zy{{zz{{{z{{z{{{{{z{{z{{{{{{{{{z{{{{{{{zz{{z{{{z{z{{{zyyyyyzzyyzy{yyyy{yyzzyzyyy{yyyyyyzzyyy{yyyzyyzz"
    "{yzzzyzyzzyyzyyzzyyyzyyyzz{yyyzyzyyzyyzyyzyyzyyzzyzyzyyzy{yyzyyzyzzyzzzyzzyzyz{zzzyyyzyzyyzzyyzzyyzzyzzy{{{{{{{z"
    "{y{{{{yzzz{{y{z{z{{{zz{{{{z{{{{{{yy{{{{{{{yyzz{{{{{z{{{{zyy{{{{{{{z{{z{{{yz{yz{{{{{zz{{{z{{{{zz{zzz{{{{zzzzzz{{z"
    "{{zzz{zzz{{zzz{zzzzzzz{zz{z{{{{{{zzz{{{{{{{{z{z{zzzzz{z{{{z{zz{{{{{{z{{{z{zzzz{{{{{{{z{{z{z{{z{z{{{z{{zz{{{z{yyy"
    "{yyyyyyyyyyyyyyyyyzzyyzyyyyzyzyyzyyyyzzzzzyyyzyyy{{zyzy{yzyyzzy{yyyyy{yz{{{y{z{{y{{zyyyy{{{{{{{{{y{{zy{{{{yy{{{{"
    "{z{{zz{{{z{{{{{y{{{y{{{{z{{{{{{{{z{yyz{{z{z{z{yz{{{yz{z{{{{yy{zz{y{{{{zz{{zz{yzy{z{zz{z{y{yzz{{y{{{y{y{zzzyzzz{{"
    "{{{{{z{{{zy{y{{yz{{{z{{{{{{{{zyz{zyz{{{{{yyzz{zz{z{{zz{{{zz{{z{{zzz{y{{zyzzy{{{{{zz{{z{{{z{{{{{z{{{zz{y{{z{{yy{z"
    "z{y{z{z{{{z{z{{y{yz{{z{y{zzz{z{zzz{zz{{{{{{{z{z{{z{{{{{{{{zyy{{y{{y{{{{{{{y{{{{{z{{{{{{{{{zzzzzz{{z{z{{{{{{z{{{z"
    "{{{{{{{{{{{{{{{{{{{{{{{{z{{zz{z{{{{z{{{{{zz{{{{{{{zzzz{{{{{zzzzz{{{{{zz{{zz{{{{z{{{z{{{{z{{z{{zz{{z{zz{{{z{{{zz{"
    "{{{{z{{{{{{{{{{z{z{{{{yyyy{zyzyyyzzzyzzzzzzyzyzy{zzyzyyzyyyz{zzzyy{yzyyyzyzyy{yy{{{y{{z{yy{y{zzzyyz{{{z{{y{{{yy{"
    "{yy{yyzyy{{{{{y{yy{zyz{{yy{yyyyy{{y{zzz{zzyy{yz{y{{zz{{yyyz{{y{{yyyyzzy{{yyz{z{yyzy{yzzy{zyy{yyyyzyz{{z{{{{{{zyz"
    "{zz{{zz{y{{yy{y{{yy{z{{y{{zz{yzyzzzyzz{yzz{zzzz{z{zy{y{{zz{{{yy{{{z{zy{zz{z{zz{yyzzzz{{zz{zz{{{zzy{y{z{z{z{z{z{{"
    "{zyy{{y{{{y{z{yyzy{zzyz{zyzy{{z{{y{zzz{z{{y{{{yzzy{z{{{z{{{zzy{{{yz{{{zyy{{z{y{z{{{{yz{{y{{{{yz{{{y{z{{{{z{{{{{{"
    "{{z{{{{zzy{{{{z{{{zz{{{z{{{{{z{zzz{{z{{{{z{{{{{{{{{z{{z{zyzyyyzzz{y{{{{y{{y{{yy{{zzyzy{{{zy{y{yzzyz{zyyyyz{{{zzy"
    "{{{z{z{y{y{yzz{{zzy{{{{{{{yyz{z{{{zz{{{{{{zzzzzz{z{{zz{{{{z{{{{{zz{{{zzy{yyzyyyyzy{{{{{zzz{{yz{{{{{z{{zz{z{{{z{{"
    "{{{{{z{{{{{{{{{{{{{{{{{z{z{{{z{{zz{{zz{{{{{{{{z{{{{z{{{{{{{{{{{{{{{{z{{zzz{{{zzzz{{{{z{{{z{z{z{{{z{{{{{z{{zz{{{{"
    "{{{{z{{{{{{{{{{{{{{{y{{{z{{zz{{{z{{{{z{{{{{{{{z{{z{z{{z{z{{{z{{{{{{{{{{{z{{{z{z{{{zz{{{z{{{zz{{{{z{{{z{zz{{{{{{{"
    "{{z{{{{{{{{{{{{{{{{{z{{{{{z{{{{{z{{{{{{{z{{{z{{{{{{{z{{{{{{{{{{{z{{{{z{{zzz{{{{{zzz{{{z{z{{z{{zz{{{z{{z{{{{{{{z{"
    "{{{{{{{{{{zz{z{{{{{{z{{{{{zz{{{{{{{{{z{{{{z{z{{{z{{{{z{{{{{{{{z{{{z{{{{{{{z{{{{z{{{{z{zzz{z{{{{{{{z{{{{{{{{{z{z{"
    "z{{z{{{{{{{{{{{{{{{z{{{{z{z{{z{{{z{{{{zzz{{{zz{z{zz{z{{{z{{{{{{{{{{{{{{{{{{{{z{{{{{z{{{{{{{{{{{{{{{{{{{{z{{{{{{{"
    "{{{{{{{{{{{z{{z{{{zz{z{{z{z{{{z{{{{{z{{{{{{{{{{{{zz{{{{{{{{{{{{{z{{zz{{{{{zz{{{{z{z{{{{z{{{{zzzz{{{{{zzzyyzzzzyz"
    "z{yyzz{z{yzzzyyyyyyzzyyyyyzzzzyzzyzyzyzzzzzyzzyzyyyyzyy{zzzzzzz{zzz{{zzzzz{zyyzzzyzyzz{zzzzzyyzzyyyzzzyzyzy{zzyz"
    "yyzzyyzzyzzyyzzzyyzzzzzyzyyz{zzz{yzyyyy{yzzzzyyyyzz{zzzzzyzyz{zzyyz{zzzy{zy{zyzzyyzzz{zzzz{zyzzz{zzyzzzzzzzzzy{z"
    "yzzz{{yz{{{{{{{yz{zz{{{{{z{z{{zz{zzzz{{{z{{{{{{{{z{zzz{{zz{{{z{{{z{{{{{{{{{z{{{{{{{{{{z{z{zzz{{{z{{{zzz{{{{{z{{{"
    "{zz{{{{{yzyz{yyyyzyzyzzyyyyyzyz{yyyzzyz{zyzzzzyzyyz{yzzz{zz{yz{y{zz{{{{{{{z{z{y{{zyyyyy{{{{yzz{yy{z{yyyyyz{yyy{{"
    "y{{{zy{{z{{y{zzz{yyzy{{zyyy{z{{{z{zzzyyyz{{{{z{{{{{{zyy{z{zy{zzyy{{{yz{zyy{zy{{{{{{{{{{yz{z{{{{{zz{zz{y{zz{zzzy{"
    "yy{{yyyy{zzzyyzy{{z{{yz{{z{zz{z{z{zz{{{{yzy{{{{z{{zz{{yy{y{z{{y{yz{{y{zyzy{{{yzz{z{y{{y{{{{{y{y{{{{{z{{z{{z{{z{{"
    "z{y{{{{{yy{{{zz{{{z{z{{{z{{{{{{{{{yz{{y{{y{yz{y{yyy{{zz{zy{{{{{{{{{yy{y{{{{{z{{{{{{{{z{{{{{y{y{z{zz{z{{{y{{{{{{{"
    "y{{z{{z{{{{z{y{z{{z{z{{{{{{{{{{{{z{z{{z{{z{zz{{{{{{z{{{{{{{{z{{{{{{{{{yy{yzzzy{{{{{y{yy{{z{z{{{z{zzz{zz{z{z{z{{{"
    "zzzz{{{zz{{{z{{{{z{{z{{{{{{z{z{{z{{{{{{zzz{z{{{{{{{{{{z{{{{{zzzz{{{z{{{{z{{z{{z{{{{{{z{z{{{z{{{zzz{{{yyyzyyyzyyy"
    "zyyzyyyyyzy{zz{zyy{yz{yyy{zzyyzzyzz{yzzyz{{{{{{z{z{z{{z{{{z{z{{{{{{{z{{{{{{{{{y{{zzz{z{{yzzz{{yy{{z{{{{zzzz{{z{z"
    "{{z{z{{{{{{{zzz{{{{z{z{{{zz{zz{{y{zz{{{{z{zz{{z{{z{{{{{{z{{{{{z{{{{{{z{{{{{{{zzz{{{{{z{{{z{{{{{{{zz{zz{z{{{{z{z{"
    "{{{z{y{zzzzzzyyyyyy{zyyz{{y{yz{yzy{{zyyzy{zy{z{yzzyzzzyzzy{{{{{{{{{{{z{{z{{{zzz{{z{zz{{{{{{{{{{{{z{{{{{{{{{{{{{{"
    "zzz{{z{{{z{z{z{z{{z{{{{{{{{{{z{{{z{{{{{{{{{{{{{z{z{{{{{{{{{{{{z{{{{{{{z{{z{{{{{{{{{{{{{{{{{z{{{{z{{{{z{z{{{{{{z{"
    "z{{z{z{{{{{{{z{{{{{{{z{z{{zz{{{z{{z{{z{{{{z{yyyyyy{yyzyzzyzyyzyzzzy{yzyyz{zyy{{yzyzz{{zyz{yzzzzzzyzzyz{zy{{{{{{z"
    "zz{{{{zzy{z{z{{{zzz{{z{{{{{zz{{z{zzyz{z{y{{{{{{z{z{{{{z{{{{z{zzz{{{{{{{{{z{z{{{{{{{y{{z{z{{{{z{z{{{z{{{{{{z{{{{z"
    "{{zz{z{zz{{{{{{z{zz{{{{{{{{zy{{{{yyzyz{zzz{{{zzy{z{{y{{{z{z{{{{{{{{{{{{{{{{{{{{z{{{{{{{z{{{{{{{{{{{{{{{{{{{{{{{{"
    "{z{{{{{{{{{{{{{{{{{{{{{{{{zz{zz{{{{{{{{{{{{{{{{{z{{{{{{{zzz{{{{{{{{{{{z{{{{z{{{{{{{{{{{zz{{{{{{{{{{{{{{{{{{{{z{{"
    "{{{{{{{{{{{{{z{{{{{z{{{{{{{{{{{{{{{{{z{{{{{{{z{{{z{{{{{{{{{z{{z{{{{{{{{{{z{{{{{{{{{{z{zz{{{{{{{z{{{{{{{{{{{{{{{{"
    "{{{{{{{zz{{{y{{z{yz{{zzzz{{z{yz{zzz{zz{{{{zzy{zzzzzzyzzzzz{z{zz{zzzzzzzzy{zzzz{{{{{yzzzz{{zzzzzzz{{zzzyzzz{{zzyz"
    "{{z{{z{{{z{{{{{{{{{zz{z{{{{{{{{{{{{z{{z{{z{{{{{{{{z{{z{{{{{z{{{{{{{z{{z{z{{{{{{{{{{{{{{{{{{z{{{z{{{{{{{{{{{{{{{{"
    "{z{{{{{{{{{{{z{{zz{{{{{{{{z{z{{{{{z{{{{{{{{{{{{{{{{{{{{{{z{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{z{{{{z{{{z{{{{{{{"
    "{{z{{{{{{{{{{{{{{{{z{{{z{{{{{{{{{{{{{z{{{{{{{{{{{{{{{{{{{zz{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{zz{{zyzyzy{yy{zzzzzy{y"
    "{zzy{yzzzzz{{yzy{zzyzyzzzzyzz{zy{z{{{z{zz{zzz{z{{{{zy{zzzzzzzz{{yz{z{z{{{z{{zzzy{{z{{{{zz{{z{{{{{{zy{{{z{{{{{z{z"
    "{{{{{zy{{z{{{{{{{{{{zz{{z{{yzzz{{{{zy{{{{z{{zyyz{y{{y{{{y{{zzzzzz{z{{z{zzzz{{{{z{{{{z{{z{z{zz{z{{{{{{{{z{{{z{zy{"
    "z{{y{z{z{z{{{{{{y{z{{{{{{{{{z{{z{{{{z{{z{z{y{zz{{{{{z{{{{{zz{{{{yzz{{{{{{{{{z{{z{z{z{{zz{{z{z{{{{{z{{{{z{{{{{{{y"
    "z{{zyzzzzzzyzz{{z{{{z{{{{yyzz{{yz{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{"
    "{{{{{{{{{{{{{{{{";

/* Where in it the code points of a page begin; FAR: nowhere. */
enum { FAR = 0xFFFF };
static const uint16_t places[256] = {
    0, FAR, FAR, FAR, 1024, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR,
    FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, 256, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR,
    FAR, FAR, 512, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR,
    FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3328, 3584, 3840, 4096,
    4352, 4608, 4864, 5120, 5376, 5632, 5888, 6144, 6400, 6656, 6912, 7168, 7424, 7680, 7936, 8192, 8448, 8704, 8960,
    9216, 9472, 9728, 9984, 10240, 10496, 10752, 11008, 11264, 11520, 11776, 12032, 12288, 12544, 12800, 13056, 13312,
    13568, 13824, 14080, 14336, 14592, 14848, 15104, 15360, 15616, 15872, 16128, 16384, 16640, 16896, 17152, 17408,
    17664, 17920, 18176, 18432, 18688, 18944, 19200, 19456, 19712, 19968, 20224, 20480, 20736, 20992, 21248, 21504,
    21760, 22016, 22272, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, 1280, 1280, 1280, 1280, 1280,
    1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280,
    1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280, 1280,
    FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR,
    FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR, 768,
};

/* Everywhere else: the class from this code point to the next row's. */
static const struct {
    uint32_t first;
    uint32_t class;
} ranges[] = {
    {0x100, LATIN}, {0x250, OTHER}, {0x300, MARK},
    {0x370, GREEK}, {0x400, CYRILLIC}, {0x530, OTHER},
    {0x590, MIDEAST}, {0x700, OTHER}, {0x900, INDIC},
    {0x1100, HANGUL}, {0x1200, OTHER}, {0x1E00, LATIN},
    {0x1F00, OTHER}, {0x2100, SYMBOL}, {0x2500, BOX},
    {0x25A0, SYMBOL}, {0x2E80, OTHER}, {0x3400, HAN_RARE},
    {0x4DC0, OTHER}, {0x4E00, HAN_RARE}, {0xA000, OTHER},
    {0xAC00, HANGUL}, {0xD7B0, OTHER}, {0xF900, HAN_RARE},
    {0xFB00, OTHER}, {0xFE00, MARK}, {0xFE10, OTHER},
    {0x10000, ASTRAL}, {0x1F000, EMOJI}, {0x1FB00, ASTRAL},
};

/* prices[class of the one before * 64 + class], in 64ths of a token. */
static const uint8_t prices[CLASSES * CLASSES] = {
    64,58,27,6,64,32,30,21,26,31,26,11,15,34,37,19,14,26,33,20,22,33,17,19,24,35,29,38,10,15,27,47,58,53,45,44,58,25,
    35,60,46,49,50,64,37,63,24,38,71,64,78,66,22,62,30,41,51,40,58,122,64,73,102,190,63,31,3,2,63,15,13,6,2,5,2,2,8,4,
    42,15,12,8,6,19,15,26,6,4,4,9,2,13,16,34,25,33,64,63,63,60,60,47,67,63,63,63,63,64,37,63,24,38,71,64,78,66,22,62,
    30,41,51,51,58,122,64,73,102,190,63,75,0,47,75,68,71,66,68,69,65,65,66,67,64,64,66,66,66,66,67,63,66,73,67,66,66,
    67,62,62,65,89,64,72,63,62,68,57,64,64,74,70,67,64,63,63,47,48,79,64,64,64,42,64,63,63,62,53,62,110,64,69,96,195,
    63,63,55,1,88,48,58,44,77,62,60,62,56,53,73,74,59,53,63,50,54,64,54,53,44,69,69,57,63,56,75,59,56,75,57,66,67,63,
    70,86,65,47,71,67,83,64,46,82,132,64,61,67,66,64,64,78,63,107,119,108,64,103,117,194,63,64,70,18,65,64,64,65,65,
    65,66,66,65,66,66,66,65,67,66,65,66,65,65,65,66,65,66,66,63,65,66,110,64,64,68,61,68,61,62,50,62,66,63,64,37,63,
    24,38,70,64,65,65,51,66,53,59,65,74,69,122,64,80,146,190,63,61,66,1,66,23,0,0,0,22,2,0,5,3,1,1,0,0,0,11,0,57,1,1,
    0,5,0,1,0,0,3,51,64,62,63,73,62,61,59,64,64,63,61,64,62,63,24,38,71,64,67,65,24,64,30,41,57,64,59,122,64,74,102,
    190,63,61,65,5,65,11,14,21,21,2,31,43,53,2,2,37,2,41,44,2,51,61,11,12,20,2,43,47,31,1,34,66,63,63,61,63,64,57,62,
    64,63,63,57,64,42,63,24,38,71,64,69,65,23,64,30,41,55,63,59,122,64,77,94,190,63,62,65,3,65,2,24,2,26,0,28,43,2,5,
    47,0,1,8,31,0,19,24,3,10,0,6,44,38,57,2,25,63,64,65,63,62,63,62,63,60,63,64,58,64,48,63,24,38,71,64,65,65,24,64,
    30,41,57,61,58,122,64,109,98,190,63,63,70,0,65,6,12,29,3,3,16,15,39,7,12,37,13,14,29,2,14,44,9,6,12,5,8,20,11,3,
    36,60,62,63,66,62,64,66,66,62,64,63,60,64,18,63,24,38,71,64,64,65,24,64,30,41,63,63,61,122,64,77,92,190,63,64,76,
    2,60,2,12,3,0,1,1,4,21,28,31,11,3,2,3,11,4,3,2,1,1,30,2,1,0,1,29,48,62,60,61,61,60,61,63,63,64,63,63,65,47,63,24,
    38,71,64,62,65,29,64,30,41,63,63,59,122,64,79,98,190,63,63,66,1,64,7,15,29,9,3,0,32,34,2,60,22,4,24,21,0,36,39,3,
    10,1,2,38,32,19,3,60,68,64,67,64,62,65,62,63,63,64,64,63,64,9,63,24,38,71,64,67,65,23,63,30,41,51,54,58,122,64,76,
    102,190,63,62,66,0,66,20,18,24,54,2,34,7,1,6,58,43,15,18,2,4,19,56,2,4,9,10,34,44,32,6,18,64,64,63,63,71,62,63,63,
    61,61,64,60,64,39,63,24,38,71,64,64,66,24,64,30,41,62,62,58,122,64,72,98,190,63,60,65,1,66,3,27,47,32,1,43,40,29,
    4,60,30,25,19,20,3,14,38,14,19,0,17,48,34,36,5,46,59,67,64,63,61,65,63,63,63,64,62,59,64,47,63,24,38,71,64,65,65,
    26,64,30,41,57,61,58,122,64,74,96,190,63,58,65,6,66,1,0,0,0,7,0,0,17,23,16,1,0,0,0,0,2,4,1,1,0,14,0,56,0,36,0,69,
    63,63,64,97,64,55,59,63,63,63,58,64,42,63,24,38,71,64,73,65,24,63,30,41,51,61,59,122,64,76,102,190,63,57,60,1,66,
    21,46,32,39,6,52,57,27,35,19,24,35,38,50,5,30,19,32,8,39,5,60,57,56,54,59,68,64,62,62,63,63,48,59,62,57,60,50,64,
    6,63,24,38,71,64,78,66,22,62,30,41,55,46,58,122,64,73,102,190,63,58,63,2,67,8,26,47,36,11,43,3,41,10,39,22,22,44,
    3,22,51,45,56,8,17,31,40,38,55,8,64,64,64,64,64,72,64,63,65,58,63,63,56,64,19,63,24,38,71,64,66,66,23,64,30,41,61,
    61,58,123,64,67,92,190,63,63,66,2,67,6,24,31,2,2,2,28,27,7,49,5,1,28,34,1,4,54,12,5,5,5,18,7,48,0,48,69,59,58,63,
    62,63,63,66,59,63,63,62,64,54,63,24,38,71,64,65,65,28,64,30,41,55,64,59,122,64,80,102,190,63,59,65,3,67,3,2,38,26,
    1,28,41,54,8,44,9,1,8,7,2,3,31,51,4,18,7,28,32,25,0,61,65,64,63,64,64,64,63,63,59,62,63,59,64,26,63,24,38,71,64,
    65,66,23,64,41,41,60,62,59,123,64,96,102,190,63,62,76,6,67,4,46,1,1,2,11,0,32,13,16,2,7,18,10,3,14,40,35,3,0,5,10,
    47,27,3,32,63,62,64,66,69,68,64,67,61,64,63,62,65,35,63,24,38,71,64,61,66,26,63,30,49,62,63,61,122,64,88,102,190,
    63,59,65,1,68,9,1,2,1,7,1,1,8,6,9,1,1,0,0,2,0,56,0,1,1,0,1,0,3,13,22,62,64,63,64,65,64,62,67,64,63,64,59,64,54,63,
    24,38,71,64,64,65,23,64,30,41,59,61,58,122,64,78,102,190,63,60,64,2,67,4,42,29,11,2,37,16,1,14,47,55,0,12,22,2,3,
    28,0,1,0,4,36,39,6,1,37,66,64,64,65,62,61,64,64,60,64,64,57,64,48,63,24,38,71,64,67,66,24,64,30,41,51,64,58,122,
    64,73,102,190,63,57,63,8,66,14,34,34,39,31,56,56,23,42,58,58,2,50,32,55,20,9,20,35,20,0,17,13,14,56,59,68,63,63,
    62,62,63,38,56,63,62,60,50,64,40,63,24,38,71,64,77,66,22,63,30,41,51,60,58,122,64,73,102,190,63,63,71,2,66,6,34,4,
    5,1,18,2,27,4,63,4,5,5,4,1,19,31,3,2,1,11,3,25,34,0,64,61,63,60,62,65,66,64,65,63,62,63,63,64,35,63,24,38,71,64,
    63,66,26,64,30,41,57,62,58,122,64,73,93,190,63,62,71,2,67,15,21,6,38,2,20,16,1,4,48,9,9,11,7,2,8,8,7,1,1,3,37,13,
    52,6,44,61,61,59,62,52,54,61,67,61,64,65,63,65,58,63,24,38,71,64,61,65,34,64,30,41,62,63,60,122,64,69,95,190,63,
    63,71,1,68,5,54,7,15,5,24,37,0,3,61,35,6,4,29,2,4,58,2,2,3,7,57,5,5,1,23,58,62,57,66,64,64,63,62,53,65,62,63,66,
    30,63,24,38,71,64,56,64,31,64,30,41,62,64,72,123,64,84,102,190,63,58,65,1,59,3,0,1,2,4,3,0,27,5,22,11,0,0,1,10,0,
    59,0,0,0,20,17,37,0,2,8,65,63,63,63,65,63,56,61,63,63,64,56,64,46,63,24,38,71,64,63,66,22,63,30,41,51,62,58,122,
    64,70,102,190,63,57,64,11,65,2,32,34,38,0,44,17,41,7,27,25,39,18,21,5,36,60,42,31,30,28,42,35,29,13,61,69,65,64,
    63,64,64,55,62,64,64,61,51,64,38,63,24,38,71,64,77,66,22,63,30,41,51,56,58,122,64,67,98,190,63,58,64,0,67,4,22,21,
    16,3,44,25,0,3,44,14,19,46,1,2,41,60,5,10,35,22,58,1,6,10,58,66,64,64,63,63,62,62,64,63,62,64,52,64,33,63,24,38,
    71,64,67,66,22,63,30,41,55,52,58,122,64,83,102,190,63,62,65,12,63,2,29,5,26,7,38,55,28,13,62,59,37,27,41,44,2,59,
    57,36,1,55,59,60,12,7,47,56,63,58,64,61,61,62,66,61,64,63,59,64,62,63,24,38,71,64,68,72,24,64,30,41,63,63,62,122,
    64,73,102,190,63,62,66,0,67,35,10,19,37,14,53,42,52,8,62,49,16,6,4,1,1,59,19,1,2,38,59,11,40,24,10,59,65,62,63,67,
    63,63,64,62,63,64,60,64,51,63,24,38,71,64,62,65,24,64,30,41,57,61,58,122,64,72,102,190,63,57,64,3,67,14,33,56,27,
    4,34,60,53,14,60,38,26,44,38,22,39,61,56,41,15,16,58,24,30,3,8,66,64,61,62,66,64,39,61,67,62,62,60,64,57,63,24,38,
    71,64,73,65,22,64,30,41,55,56,58,122,64,73,102,190,63,64,70,0,101,19,25,24,17,6,9,47,1,12,66,38,9,20,5,6,15,59,8,
    17,5,15,25,46,18,7,59,7,64,62,63,57,66,62,66,61,70,69,65,64,38,63,24,38,71,64,57,65,34,64,50,58,63,64,65,122,64,
    71,83,190,64,61,1,16,58,61,66,65,55,57,63,63,61,62,61,59,52,42,65,63,62,60,54,44,48,54,16,65,55,57,61,65,5,18,1,0,
    12,0,20,21,7,21,6,64,23,63,54,55,66,64,66,65,29,63,30,41,65,59,66,112,64,66,95,190,63,59,0,10,65,38,37,30,44,38,
    33,43,49,34,28,26,43,29,30,41,42,21,35,31,34,46,46,42,22,28,23,58,0,4,2,13,19,4,8,7,23,11,8,64,56,64,76,65,70,64,
    27,64,24,64,61,61,67,66,65,126,64,73,92,190,63,64,0,7,64,51,45,51,49,55,55,49,37,56,31,23,56,49,43,44,44,33,33,53,
    40,40,26,48,42,18,46,50,16,15,13,0,3,1,8,36,13,12,38,64,37,63,24,38,71,64,47,66,36,50,41,41,64,64,63,122,64,66,
    101,190,63,63,1,37,65,36,14,17,28,30,38,32,28,38,27,16,24,34,39,34,38,29,21,29,30,47,30,35,2,11,23,35,3,8,42,12,
    33,13,22,12,5,13,6,64,37,63,24,38,68,64,26,65,38,63,30,41,55,71,63,105,64,84,102,190,63,64,1,12,66,7,18,1,16,9,8,
    6,0,10,13,3,4,6,9,2,6,7,12,11,20,14,22,19,6,11,9,26,6,19,26,9,3,51,8,2,7,8,6,63,39,63,48,38,72,64,22,64,33,64,45,
    41,55,67,64,125,64,81,102,190,63,64,0,10,60,51,55,59,54,39,58,46,54,40,19,24,54,61,47,58,53,37,40,54,53,60,59,52,
    33,8,41,59,1,18,15,10,4,0,2,7,0,15,25,64,37,63,24,38,71,64,69,64,22,64,30,41,51,63,61,122,64,76,102,190,63,60,1,7,
    63,25,12,14,11,29,16,5,22,23,52,21,21,9,21,19,19,35,21,16,10,18,32,17,21,12,6,39,35,20,13,24,29,32,0,58,32,32,44,
    64,61,64,75,64,74,64,67,66,22,65,30,59,62,63,89,122,64,80,102,190,64,61,4,5,65,14,9,11,10,8,20,28,10,10,12,17,23,
    5,7,11,19,7,20,11,6,40,8,11,40,46,11,15,41,5,35,32,34,46,24,2,24,32,44,64,37,63,61,38,71,64,72,64,23,63,30,41,51,
    43,58,122,64,88,102,190,63,58,1,8,65,13,23,25,20,53,53,32,48,1,11,40,10,8,36,25,22,15,14,20,24,9,31,53,24,19,52,
    16,9,29,47,48,20,37,18,47,0,53,28,64,37,63,57,38,71,64,66,65,26,63,30,58,63,63,83,122,64,71,102,190,64,63,3,12,66,
    53,37,44,54,52,40,50,38,35,33,52,45,44,35,56,60,53,53,44,43,55,40,43,44,34,52,51,20,5,20,14,53,11,21,27,7,2,23,64,
    37,63,30,38,71,64,65,66,23,55,30,49,57,66,60,122,64,69,102,190,63,59,5,11,64,63,63,62,6,27,64,61,61,31,56,57,62,
    61,61,63,66,45,64,60,60,34,61,62,53,56,43,67,38,7,58,49,53,35,9,9,23,64,1,64,37,63,24,39,71,64,73,65,22,63,30,41,
    51,53,58,122,64,83,102,190,63,57,56,8,64,56,59,57,55,52,62,32,62,52,61,47,57,50,48,40,63,33,52,60,55,57,45,49,28,
    28,27,65,61,58,63,46,59,64,64,54,51,52,50,71,63,66,63,44,70,64,71,67,48,62,30,41,51,63,59,122,64,73,81,190,63,57,
    62,0,64,39,23,25,40,8,22,32,9,37,24,29,20,5,26,20,56,61,17,8,13,37,28,19,27,20,34,37,63,55,58,70,64,25,59,54,46,
    48,50,68,56,63,24,48,71,69,72,71,46,62,30,41,51,40,58,122,64,73,81,190,63,57,22,34,64,18,30,21,17,5,26,11,10,15,
    37,14,9,17,5,10,22,33,7,14,15,12,17,38,10,9,27,36,58,55,58,64,62,25,55,54,46,46,50,64,46,64,24,38,71,64,77,65,35,
    62,30,41,51,51,58,122,64,73,93,190,63,57,53,0,64,18,30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,15,12,17,38,
    10,9,27,51,63,61,76,130,57,62,76,64,61,48,50,64,37,63,16,38,71,64,70,65,36,62,30,41,51,40,58,122,64,73,102,190,63,
    57,22,2,64,18,30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,15,12,17,38,10,9,27,36,62,56,58,84,59,25,57,54,46,
    47,50,64,47,63,24,21,71,64,70,66,22,62,30,41,51,40,58,122,64,73,81,190,63,57,22,96,64,18,30,21,17,5,26,11,10,15,
    37,14,9,17,5,10,22,33,7,14,15,12,17,38,10,9,27,36,63,58,63,60,61,28,66,54,46,46,50,64,37,63,24,38,54,64,172,65,22,
    62,30,41,51,40,58,122,64,73,88,190,63,57,64,6,64,18,30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,15,12,17,38,
    10,9,27,36,58,55,45,44,58,25,35,54,46,46,50,64,48,63,27,38,71,64,127,105,22,63,30,41,51,40,58,122,64,80,92,190,63,
    57,43,16,64,32,41,62,6,59,61,56,41,17,59,57,25,7,53,12,61,36,10,4,11,50,1,35,26,37,33,49,50,60,30,51,35,38,60,57,
    63,61,61,69,49,63,50,63,103,64,11,64,25,28,30,41,63,64,63,103,64,77,49,190,63,57,62,21,64,38,30,21,25,5,33,20,36,
    25,37,14,9,19,5,10,29,33,7,14,49,12,17,38,13,9,27,52,58,55,60,44,61,25,35,62,46,46,50,64,51,63,29,41,71,64,74,65,
    28,62,30,41,51,53,58,122,64,73,89,190,63,57,63,61,64,30,41,37,40,32,39,42,16,39,39,22,29,35,23,15,40,36,16,41,32,
    21,26,43,29,9,32,63,61,61,47,45,61,25,44,54,52,53,54,64,55,63,37,38,71,64,77,66,16,63,30,41,51,63,59,122,64,73,93,
    190,63,57,7,41,66,62,60,62,61,56,60,53,62,59,51,37,59,61,55,54,62,41,55,62,58,57,58,55,56,28,34,63,48,30,62,61,64,
    58,59,56,59,62,60,64,37,63,24,38,71,64,13,64,32,33,59,62,51,69,67,130,64,75,90,190,63,57,63,2,64,18,30,21,17,5,26,
    11,10,15,37,14,9,17,5,10,22,33,7,14,15,12,17,38,10,9,27,50,58,55,63,54,65,62,35,54,57,47,50,64,37,63,24,38,71,64,
    78,66,22,59,9,58,51,51,59,95,64,73,146,190,63,57,62,4,64,18,30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,15,
    12,17,38,10,9,27,46,58,57,62,74,58,56,35,54,60,51,50,64,37,63,24,38,71,64,78,66,22,64,55,44,51,63,67,127,64,73,99,
    190,63,57,61,4,64,18,30,21,17,5,26,11,28,15,37,14,9,17,5,10,22,33,7,14,31,12,17,38,10,9,27,36,63,64,66,97,58,62,
    55,54,61,46,50,64,37,63,24,38,71,64,73,66,22,62,30,41,46,40,58,122,64,73,102,190,63,60,68,22,73,59,61,63,61,55,59,
    60,59,60,41,44,62,62,56,59,60,43,57,63,61,56,63,63,63,27,47,66,60,65,66,84,68,64,63,58,64,66,62,64,37,63,24,38,71,
    64,68,64,58,59,42,63,51,35,64,114,64,77,115,190,63,57,63,8,64,18,47,21,31,5,37,20,10,23,37,14,18,31,5,10,22,43,7,
    41,23,21,25,38,30,9,27,60,63,62,62,90,64,56,54,54,58,57,52,64,37,63,24,38,71,64,65,66,22,61,47,62,51,47,49,114,64,
    68,102,190,63,57,45,9,64,18,30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,23,12,17,38,10,9,27,36,59,55,45,59,
    58,44,37,54,49,46,50,64,37,63,24,38,71,64,72,65,41,61,53,60,51,64,77,154,64,73,168,190,63,57,35,3,64,18,30,21,17,
    5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,15,12,17,38,10,9,27,50,58,55,45,51,58,25,46,54,46,46,50,64,37,63,24,38,
    71,64,78,66,22,64,30,41,51,63,58,122,65,71,143,190,63,57,65,6,64,18,30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,
    7,14,15,12,17,38,10,9,27,36,63,55,45,44,58,25,35,54,46,46,50,64,37,63,24,38,71,64,128,64,22,63,30,41,51,40,58,122,
    64,72,92,191,63,57,22,88,64,18,36,21,26,12,26,11,10,22,37,27,15,22,30,10,22,33,27,19,15,12,17,38,10,15,27,36,61,
    55,51,48,61,25,35,54,46,46,50,66,52,67,24,57,78,64,48,65,30,62,52,43,51,57,58,126,64,73,93,190,63,57,39,64,64,18,
    30,21,17,5,26,11,10,15,37,14,9,17,5,10,22,33,7,14,15,12,17,38,10,9,27,36,58,55,45,44,58,25,35,54,46,46,50,64,37,
    63,24,38,71,64,78,66,22,62,30,41,51,40,58,122,64,67,102,189,
};

/* The letter of a code point on a FAR page: kept out of the loop. */
static NEVER_INLINE size_t far_letter(uint32_t c) {
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].first <= c)
            low = middle;
        else
            high = middle;
    }
    return (size_t)ranges[low].class + LETTER;
}

static ALWAYS_INLINE size_t letter_at(const void *text, size_t i, unsigned width) {
    uint32_t c = hm_codepoint_at(text, i, width);
    size_t place = 0;
    if (width > 1) {
        place = width == 4 && c > 0xFFFF ? FAR : places[c >> 8];
        if (place == FAR)
            return far_letter(c);
    }
    return (unsigned char)classes[place + (c & 0xFF)];
}

/* Both are letters; the constant takes LETTER out of both. */
static ALWAYS_INLINE uint32_t price(size_t before, size_t letter) {
    return prices[before * CLASSES + letter - LETTER * (CLASSES + 1)];
}

/* Adds up at most BLOCK prices, fewer than 2^28 in all. `before` is the letter in front of the text and becomes that of
 * its last code point. Four at a time: nothing in a step waits for the one before. */
enum { BLOCK = 1 << 20 };
static ALWAYS_INLINE uint32_t sum_block(const void *text, size_t i, size_t end, unsigned width, size_t *before) {
    uint32_t sum = 0;
    size_t a = *before, b, c, d;
    for (; end - i >= 4; i += 4) {
        b = letter_at(text, i, width);
        c = letter_at(text, i + 1, width);
        d = letter_at(text, i + 2, width);
        sum += price(a, b) + price(b, c);
        a = letter_at(text, i + 3, width);
        sum += price(c, d) + price(d, a);
    }
    for (; i < end; i++) {
        b = letter_at(text, i, width);
        sum += price(a, b);
        a = b;
    }
    *before = a;
    return sum;
}

/* The whole rule, block by block.
 * Bound: no price is above 255, so the sum stays below 2^64 for 2^56 code points, which no address space holds; the
 * result is cut to SIZE_MAX where size_t is narrower. */
static ALWAYS_INLINE size_t estimate(const void *text, size_t length, unsigned width) {
    uint64_t sum = 0;
    size_t before = NEWLINE + LETTER;
    for (size_t first = 0, end; first < length; first = end) {
        end = length - first > BLOCK ? first + BLOCK : length;
        sum += sum_block(text, first, end, width, &before);
    }
    sum = (sum >> 6) + (sum >> 5 & 1);
    if (sum == 0)
        return length > 0;
    return sum > SIZE_MAX ? SIZE_MAX : (size_t)sum;
}

/* `width` is a constant in each call: three loops, each for one kind of text. */
size_t hm_estimate(const void *text, size_t length, unsigned width) {
    if (width == 1)
        return estimate(text, length, 1);
    if (width == 2)
        return estimate(text, length, 2);
    return estimate(text, length, 4);
}

/* Eight bytes at a time: a lane becomes zero where the code point is one of U+D800 .. U+DFFF, and subtracting one from
 * every lane sets a top bit that was clear only if some lane is zero. */
bool hm_has_surrogate(const void *text, size_t length, unsigned width) {
    uint64_t mask = width == 2 ? UINT64_C(0xF800F800F800F800) : UINT64_C(0xFFFFF800FFFFF800);
    uint64_t mark = width == 2 ? UINT64_C(0xD800D800D800D800) : UINT64_C(0x0000D8000000D800);
    uint64_t ones = width == 2 ? UINT64_C(0x0001000100010001) : UINT64_C(0x0000000100000001);
    uint64_t tops = width == 2 ? UINT64_C(0x8000800080008000) : UINT64_C(0x8000000080000000);
    size_t step = width == 2 ? 4 : 2, i = 0;
    if (width == 1)
        return false;
    for (; length - i >= step; i += step) {
        uint64_t lanes;
        memcpy(&lanes, (const char *)text + i * width, sizeof lanes);
        lanes = (lanes & mask) ^ mark;
        if ((lanes - ones) & ~lanes & tops)
            return true;
    }
    for (; i < length; i++)
        if ((hm_codepoint_at(text, i, width) & 0xFFFFF800) == 0xD800)
            return true;
    return false;
}
