"""Remakes tests.json: answers of scipy and statsmodels at full precision to tests of groups, tables, shapes and models.

The data are those of R's documentation and of the books that it names; the figures printed there agree.
Needs scipy 1.17 and statsmodels 0.15 for Python. Run: python3 make-tests.py > tests.json
"""
import json

import numpy as np
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.diagnostic import het_breuschpagan, linear_reset, lilliefors, normal_ad
from statsmodels.stats.oneway import anova_oneway

D = {
    "spray": {
        "A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
        "B": [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
        "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
        "D": [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
        "E": [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4],
        "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
    },
    "plant": {
        "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
        "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
        "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
    },
    "mucociliary": {
        "normal": [2.9, 3.0, 2.5, 2.6, 3.2],
        "obstructive": [3.8, 2.7, 4.0, 2.4],
        "asbestosis": [2.8, 3.4, 3.7, 2.2, 2.0],
    },
    "depression": {
        "before": [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
        "after": [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
    },
    "permeability": {
        "term": [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
        "early": [1.15, 0.88, 0.90, 0.74, 1.21],
    },
    "serum": {
        "ramsay": [111, 107, 100, 99, 102, 106, 109, 108, 104, 99, 101, 96, 97, 102, 107, 113, 116, 113, 110, 98],
        "van_eden": [107, 108, 106, 98, 105, 103, 110, 105, 104, 100, 96, 108, 103, 104, 114, 114, 113, 108, 106, 99],
    },
    # Hollander and Wolfe (1973), p. 140: seconds of round out, narrow angle, wide angle by 22 players.
    "rounding": [
        [5.40, 5.50, 5.55], [5.85, 5.70, 5.75], [5.20, 5.60, 5.50], [5.55, 5.50, 5.40], [5.90, 5.85, 5.70],
        [5.45, 5.55, 5.60], [5.40, 5.40, 5.35], [5.45, 5.50, 5.35], [5.25, 5.15, 5.00], [5.85, 5.80, 5.70],
        [5.25, 5.20, 5.10], [5.65, 5.55, 5.45], [5.60, 5.35, 5.45], [5.05, 5.00, 4.95], [5.50, 5.50, 5.40],
        [5.45, 5.55, 5.50], [5.55, 5.55, 5.35], [5.45, 5.50, 5.55], [5.50, 5.45, 5.25], [5.65, 5.60, 5.40],
        [5.70, 5.65, 5.55], [6.30, 6.30, 6.25],
    ],
    "party": [[762, 327, 468], [484, 239, 477]],
    "satisfaction": [
        [[1, 3, 11, 2], [2, 3, 17, 3], [0, 1, 8, 5], [0, 2, 4, 2]],
        [[1, 1, 2, 1], [0, 3, 5, 1], [0, 0, 7, 3], [0, 1, 9, 6]],
    ],
    "small": [[4, 1, 0], [0, 3, 2], [1, 1, 5]],
    "weights": [148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236],
    "speed": [4, 4, 7, 7, 8, 9, 10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 17,
              17, 17, 18, 18, 18, 18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25],
    "dist": [2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40,
             32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85],
    "temperature": [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58],
    "distress": [0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1],
    "counts": [18, 17, 15, 20, 10, 20, 25, 13, 12],
    "lightness": [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1],
    "panel": [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8],
}
F = []


def put(case, source, data, **values):
    F.append({"case": case, "source": source, "data": data, "values": {k: float(v) for k, v in values.items()}})


S, M = f"scipy {scipy.__version__}", f"statsmodels {statsmodels.__version__}"
spray, plant = ([np.array(v, float) for v in D[key].values()] for key in ("spray", "plant"))
nile = json.load(open("published.json"))["Nile"]

r = stats.bartlett(*spray)
put("InsectSprays, Bartlett", f"{S}, bartlett; R ?bartlett.test", "spray", statistic=r.statistic, p=r.pvalue)
for name, center in [("Levene", "mean"), ("Brown-Forsythe", "median")]:
    r = stats.levene(*spray, center=center)
    put(f"InsectSprays, {name}", f"{S}, levene(center='{center}')", "spray", statistic=r.statistic, p=r.pvalue)
a, b = D["serum"].values()
f = np.var(a, ddof=1) / np.var(b, ddof=1)
put("serum, F of variances", f"{S}, f", "serum", statistic=f, p=2 * min(stats.f.cdf(f, 19, 19), stats.f.sf(f, 19, 19)))
r = stats.mood(a, b)
put("serum, Mood", f"{S}, mood; R ?mood.test", "serum", z=r.statistic, p=r.pvalue)
r = stats.f_oneway(*plant)
put("PlantGrowth, classic", f"{S}, f_oneway", "plant", f=r.statistic, p=r.pvalue)
r = anova_oneway(plant, use_var="unequal", welch_correction=True)
put("PlantGrowth, Welch", f"{M}, anova_oneway", "plant", f=r.statistic, p=r.pvalue, df=r.df_denom)
for name, equal in [("Tukey", True), ("Games-Howell", False)]:
    r = stats.tukey_hsd(*plant, equal_var=equal)
    c = r.confidence_interval(0.95)
    put(f"PlantGrowth, {name}", f"{S}, tukey_hsd(equal_var={equal})", "plant",
        **{"p 01": r.pvalue[0, 1], "p 02": r.pvalue[0, 2], "p 12": r.pvalue[1, 2], "low 12": c.low[1, 2], "high 12": c.high[1, 2]})
r = stats.kruskal(*D["mucociliary"].values())
put("mucociliary, Kruskal-Wallis", f"{S}, kruskal; R ?kruskal.test", "mucociliary", statistic=r.statistic, p=r.pvalue)
r = stats.kruskal(*spray)
put("InsectSprays, Kruskal-Wallis", f"{S}, kruskal", "spray", statistic=r.statistic, p=r.pvalue)
ranks = stats.rankdata(np.concatenate(spray))
n, ties = 72, sum(t**3 - t for t in np.unique(np.concatenate(spray), return_counts=True)[1])
z = (ranks[:12].mean() - ranks[24:36].mean()) / np.sqrt((n * (n + 1) / 12 - ties / (12 * (n - 1))) / 6)
put("InsectSprays, Dunn", f"Dunn 1964 by {S}, rankdata", "spray", **{"z 02": z, "p 02": 2 * stats.norm.sf(abs(z))})
a, b = D["permeability"].values()
r = stats.mannwhitneyu(a, b)
put("permeability, Mann-Whitney exact", f"{S}, mannwhitneyu; R ?wilcox.test", "permeability", statistic=r.statistic, p=r.pvalue)
r = stats.mannwhitneyu(spray[0], spray[1])
put("InsectSprays A B, Mann-Whitney with ties", f"{S}, mannwhitneyu", "spray", statistic=r.statistic, p=r.pvalue)
a, b = D["depression"].values()
r = stats.wilcoxon(a, b, alternative="greater")
t = stats.ttest_rel(a, b)
put("depression, signed ranks exact", f"{S}, wilcoxon; R ?wilcox.test", "depression", statistic=r.statistic, p=stats.wilcoxon(a, b).pvalue)
put("depression, paired t", f"{S}, ttest_rel", "depression", t=t.statistic, p=t.pvalue,
    low=t.confidence_interval().low, high=t.confidence_interval().high)
a, b = spray[2], spray[3]
w = stats.wilcoxon(a, b, correction=True, method="approx", zero_method="wilcox")
put("InsectSprays C D, signed ranks with ties", f"{S}, wilcoxon(correction=True)", "spray", p=w.pvalue)
r = stats.friedmanchisquare(*np.array(D["rounding"]).T)
put("rounding first base, Friedman", f"{S}, friedmanchisquare; R ?friedman.test", "rounding", statistic=r.statistic, p=r.pvalue)
r = stats.ks_2samp(D["plant"]["ctrl"], D["plant"]["trt2"], method="exact")
put("PlantGrowth ctrl trt2, Kolmogorov-Smirnov", f"{S}, ks_2samp(method='exact')", "plant", statistic=r.statistic, p=r.pvalue)

r = stats.chi2_contingency(D["party"], correction=False)
put("party by gender, chi-square", f"{S}, chi2_contingency; R ?chisq.test", "party", statistic=r.statistic, p=r.pvalue,
    v=stats.contingency.association(D["party"], method="cramer"))
put("a table of 3 by 3, Fisher", "enumeration in exact fractions", "small", p=0)
p = json.load(open("published.json"))["ucb"]
strata = [np.array([[p[k], p[12 + k]], [p[6 + k], p[18 + k]]], dtype=float) for k in range(6)]
t = StratifiedTable(strata)
null, equal = t.test_null_odds(correction=False), t.test_equal_odds()
low, high = t.oddsratio_pooled_confint(0.05)
put("UCBAdmissions, Cochran-Mantel-Haenszel", f"{M}, StratifiedTable", "ucb", statistic=null.statistic, p=null.pvalue,
    odds=t.oddsratio_pooled, low=low, high=high, breslow_day=equal.statistic)

put("weights of 11 men, Shapiro-Wilk", f"{S}, shapiro", "weights", w=stats.shapiro(D["weights"]).statistic, p=stats.shapiro(D["weights"]).pvalue)
put("Nile, Shapiro-Wilk", f"{S}, shapiro", "nile", w=stats.shapiro(nile).statistic, p=stats.shapiro(nile).pvalue)
put("Nile, Anderson-Darling", f"{M}, normal_ad", "nile", statistic=normal_ad(np.array(nile, float))[0], p=normal_ad(np.array(nile, float))[1])
d, p = lilliefors(np.array(nile, float), pvalmethod="approx")
put("Nile, Lilliefors", f"{M}, lilliefors", "nile", statistic=d)
d, p = lilliefors(np.array(D["weights"], float), pvalmethod="approx")
put("weights of 11 men, Lilliefors", f"{M}, lilliefors(pvalmethod='approx')", "weights", statistic=d, p=p)
r = stats.normaltest(nile)
put("Nile, D'Agostino-Pearson", f"{S}, normaltest", "nile", statistic=r.statistic, p=r.pvalue)
r = stats.kstest(nile, "norm", args=(900, 150), method="exact")
put("Nile against N(900, 150), Kolmogorov-Smirnov", f"{S}, kstest(method='exact')", "nile", statistic=r.statistic, p=r.pvalue)
put("Nile, shape", f"{S}, skew and kurtosis, bias=False", "nile", skewness=stats.skew(nile, bias=False), kurtosis=stats.kurtosis(nile, bias=False))

x, y = D["lightness"], D["panel"]
r = stats.kendalltau(x, y)
put("Hunter L values, Kendall exact", f"{S}, kendalltau; R ?cor.test", "lightness", tau=r.statistic, p=r.pvalue)
r = stats.kendalltau(D["speed"], D["dist"])
put("cars, Kendall with ties", f"{S}, kendalltau", "cars", tau=r.statistic, p=r.pvalue)
X = sm.add_constant(np.array(D["temperature"], float))
e = lambda v: np.array(v, float) - sm.OLS(np.array(v, float), sm.add_constant(np.array(D["speed"], float))).fit().fittedvalues
order = np.arange(50, dtype=float)
pr = np.corrcoef(e(D["dist"]), e(order))[0, 1]
t = pr * np.sqrt(47 / (1 - pr * pr))
put("cars, partial correlation", f"residuals of {M}, OLS", "cars", r=pr, p=2 * stats.t.sf(abs(t), 47))
pc = sm.GLM(D["distress"], X, family=sm.families.Binomial()).fit(tol=1e-15, maxiter=100)
put("Challenger, logistic", f"{M}, GLM(Binomial); Dalal, Fowlkes and Hoadley 1989", "challenger", intercept=pc.params[0], slope=pc.params[1],
    **{"se intercept": pc.bse[0], "se slope": pc.bse[1], "p": pc.pvalues[1], "low": pc.conf_int()[1][0], "deviance": pc.deviance})
o, t = np.tile([0, 1, 2], 3), np.repeat([0, 1, 2], 3)
X = np.column_stack([np.ones(9), o == 1, o == 2, t == 1, t == 2]).astype(float)
pc = sm.GLM(D["counts"], X, family=sm.families.Poisson()).fit(tol=1e-15, maxiter=100)
put("Dobson, Poisson", f"{M}, GLM(Poisson); R ?glm", "dobson", intercept=pc.params[0], o2=pc.params[1], o3=pc.params[2],
    **{"se intercept": pc.bse[0], "se o2": pc.bse[1], "deviance": pc.deviance, "p o2": pc.pvalues[1]})
X = sm.add_constant(np.array(D["speed"], float))
fit = sm.OLS(np.array(D["dist"], float), X).fit()
hc3, ci = fit.get_robustcov_results("HC3", use_t=True), fit.conf_int()
put("cars, HC3", f"{M}, OLS(...).get_robustcov_results('HC3')", "cars", **{"se intercept": hc3.bse[0], "se slope": hc3.bse[1], "p slope": hc3.pvalues[1]})
put("cars, interval", f"{M}, OLS; R cars", "cars", low=ci[1][0], high=ci[1][1])
bp = het_breuschpagan(fit.resid, X)
put("cars, Breusch-Pagan", f"{M}, het_breuschpagan", "cars", statistic=bp[0], p=bp[1])
rs = linear_reset(fit, power=3, use_f=True)
put("cars, RESET", f"{M}, linear_reset(power=3)", "cars", statistic=float(np.squeeze(rs.statistic)), p=float(rs.pvalue))
q = stats.studentized_range
put("studentised range", f"{S}, studentized_range", "none", **{"q 3 20": q.isf(0.05, 3, 20), "p 12 4 30": q.sf(12, 4, 30), "p 3 50 12.5": q.sf(3, 50, 12.5)})
put("Kolmogorov, n = 10, d = 0.3", f"{S}, kstwo", "none", p=stats.kstwo.sf(0.3, 10))
put("Kolmogorov, n = 1000, d = 0.05", f"{S}, kstwo", "none", p=stats.kstwo.sf(0.05, 1000))


def enumerate_fisher(table):
    """All tables of the margins, in exact fractions."""
    from fractions import Fraction
    from math import factorial

    rows, cols = [sum(r) for r in table], [sum(c) for c in zip(*table)]
    weight = lambda cells: Fraction(1, int(np.prod([factorial(c) for c in cells], dtype=object)))
    seen, within, total = weight(sum(table, [])), Fraction(0), Fraction(0)

    def columns(left, size, width):
        if width == 1:
            yield (size,) if size <= left[0] else None
            return
        for cell in range(min(size, left[0]) + 1):
            for rest in columns(left[1:], size - cell, width - 1):
                yield None if rest is None else (cell, *rest)

    states = {(tuple(rows), Fraction(1)): 1}
    for size in cols:
        after = {}
        for (left, product), times in states.items():
            for column in columns(left, size, len(rows)):
                if column is not None:
                    key = (tuple(a - b for a, b in zip(left, column)), product * weight(column))
                    after[key] = after.get(key, 0) + times
        states = after
    for (_, product), times in states.items():
        total += product * times
        if product <= seen:
            within += product * times
    return float(within / total)


next(one for one in F if one["case"].startswith("a table"))["values"]["p"] = enumerate_fisher(D["small"])
print(json.dumps({"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "data": D, "figures": F}))
