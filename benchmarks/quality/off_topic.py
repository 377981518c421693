"""Questions about things that are in none of the sets: the right answer is silence."""

from __future__ import annotations

_ENGLISH = """
What is the spin of a Higgs boson?
How does quantum entanglement violate Bell inequalities?
What is the Schwarzschild radius of a neutron star?
Explain the Pauli exclusion principle
Which decay channels does the tau lepton have?
What did Heisenberg publish about matrix mechanics?
How do superconducting qubits lose coherence?
What is the fine-structure constant?
How do I braise oxtail with star anise and tamarind?
What temperature should I proof a sourdough boule at?
How long should kimchi ferment before refrigerating?
What is the ratio of flour to butter in a beurre manié?
How do I temper couverture chocolate?
Which cut of veal is used for osso buco?
How to make a galangal and lemongrass curry paste?
What does xanthan gum do in a vinaigrette?
How is depreciation of rental property reported to the IRS?
What is the capital gains rate for collectibles?
Which form does an S corporation file?
What is the threshold for value added tax registration?
Can I deduct mileage as a sole proprietor?
How are qualified dividends taxed for non-residents?
What is the statute of limitations for a tax audit?
When is the deadline for estimated quarterly taxes?
What are the main lines of the Najdorf Sicilian?
Why did black decline the gambit in the Benko?
How do you checkmate with bishop and knight?
What is the Lucena position in rook endgames?
Who won the Candidates tournament in 1962?
What is the minority attack in the Carlsbad structure?
How do I configure BGP route reflectors?
What does the MTU setting do on a VLAN trunk?
How do I renew a Let's Encrypt wildcard certificate?
Which port does the Postgres replica listen on?
How do I rebase a feature branch onto main?
What is the password policy of the Kubernetes cluster?
Why does the garbage collector pause for so long?
What was the root cause of the Redis outage?
How do I fix a segmentation fault in libcurl?
Which index speeds up the orders query?
What is the difference between a mutex and a semaphore?
How does the Raft consensus algorithm elect a leader?
When does the lease on the warehouse expire?
What is the invoice number for the March shipment of valves?
Who is the account manager at Siemens?
What discount did the steel supplier offer?
How many pallets fit into a reefer container?
What is the tariff code for ceramic tiles?
Which auditor signed the annual report?
What is the penalty clause in the Hamburg contract?
How deep is the Mariana Trench?
What causes the aurora borealis on Jupiter?
Which volcano erupted in Iceland in 1783?
What is the chemical formula of dolomite?
How are stalactites formed in limestone caves?
Which minerals make granite pink?
What is the half-life of strontium-90?
How do mangroves filter salt from seawater?
What do pangolins eat?
How long is the gestation period of an elephant?
Which enzyme unwinds DNA during replication?
What is the function of the Golgi apparatus?
How does CRISPR Cas9 find its target sequence?
Which antibiotic treats Lyme borreliosis?
What is the normal range of serum potassium?
What are the side effects of metoprolol?
How is a Bartholin cyst drained?
What is the dosage of amoxicillin for otitis media?
Who signed the Treaty of Westphalia?
Why did the Hanseatic League decline?
When was the Edict of Nantes revoked?
Who succeeded Emperor Trajan?
What caused the Defenestration of Prague?
Which pharaoh built the temple at Abu Simbel?
What was the capital of the Khmer empire?
When did the Ottoman siege of Vienna fail?
How does a torque converter work?
What is the firing order of a V8 engine?
How do I bleed hydraulic clutch lines?
Which oil viscosity suits a diesel tractor?
What is the tire pressure for a Vespa?
How do I replace the serpentine belt on a Volvo?
How do I lay herringbone parquet?
What grit should I use to sand lacquer?
Which mortar is used for glass bricks?
How thick must a load-bearing wall be?
What is the R-value of mineral wool insulation?
How do I wire a three-way switch?
How do I unclog a grease trap?
What is the boiling point of ethylene glycol?
How do I calculate an eigenvalue of a symmetric matrix?
What does the central limit theorem say?
Is every compact metric space separable?
How do I integrate by partial fractions?
What is the Riemann hypothesis about?
Which primes are sums of two squares?
What is the exchange rate of the Norwegian krone?
What is the yield of ten-year treasury bonds?
How do covered call options work?
What is the expense ratio of the index fund?
Which broker executed the silver futures trade?
How do I hedge against inflation with commodities?
Who composed the Goldberg Variations?
What is a diminished seventh chord?
Which key is the Moonlight Sonata in?
How do I tune a twelve-string lute?
What is sonata-allegro form?
Who painted the Isenheim Altarpiece?
What pigment gives ultramarine its color?
How did Vermeer use a camera obscura?
What is the plot of Wuthering Heights?
Who is the narrator in Moby Dick?
What is the meter of the Aeneid?
How many cantos does the Divine Comedy have?
What is the ablative absolute in Latin?
How do you conjugate the Spanish subjunctive?
What does the Finnish partitive case express?
Which tones does Cantonese have?
How do I apply for a Schengen visa?
Which terminal does the flight to Osaka leave from?
What is the baggage allowance of Lufthansa?
When does the ferry to Gotland depart?
Which metro line goes to the Prado?
How much is the toll on the Brenner motorway?
What is the zoning of parcel 47?
Who chairs the municipal sewage committee?
What is the quorum for a shareholder meeting?
How do I file an appeal against a zoning decision?
What does habeas corpus mean?
What is the burden of proof in a civil tort?
How is copyright transferred by assignment?
When does a patent application become public?
How do I prune a grafted apple tree?
When should I sow winter rye?
What is the pH of peat soil?
Which fungicide stops powdery mildew on vines?
How do I overwinter dahlias tubers?
How do bees regulate the temperature of a hive?
How do I calibrate a pH electrode?
What is the resolution of a confocal microscope?
How does a mass spectrometer separate isotopes?
Which solvent dissolves polystyrene?
What is the Reynolds number of turbulent pipe flow?
How is ammonia produced in the Haber process?
What does a Geiger counter measure?
How do geostationary satellites hold their orbit?
What was the payload of the Saturn V rocket?
How far away is Proxima Centauri?
Which moon of Saturn has methane lakes?
What are Lagrange points?
How is the leap second inserted?
What is the rule for offside in ice hockey?
How many points is a drop goal worth in rugby union?
Which knot joins two ropes of different diameter?
What is the hull speed of a 30 foot sloop?
How do I gybe a catamaran safely?
What does the Beaufort scale say about force 8?
How do I remove red wine from a silk tie?
What is the thread count of Egyptian cotton?
How do I darn a merino sweater?
Which stitch is used for buttonholes?
router firmware update checksum
kubernetes ingress timeout
gross margin forecast Q3
espresso machine descaling
passport renewal fee
server rack serial numbers
"""
_CHINESE = """
希格斯玻色子的自旋是多少？
量子纠缠如何违反贝尔不等式？
西西里防御的主要变化有哪些？
怎样用八角和罗望子炖牛尾？
资本利得税的税率是多少？
威斯特伐利亚和约是谁签署的？
中子星的史瓦西半径怎么算？
怎样配置路由反射器？
哈勃常数的最新测量值
如何给柴油拖拉机换机油？
马里亚纳海沟有多深？
哪种酶在复制时解开双螺旋？
黎曼猜想说的是什么？
挪威克朗的汇率
哥德堡变奏曲是谁写的？
芬兰语的部分格表示什么？
申根签证怎么申请？
人身保护令是什么意思？
怎样嫁接苹果树？
锶九十的半衰期是多长？
土星五号火箭的运载能力
冰球的越位规则是什么？
双体船怎样安全地顺风换舷？
奥斯曼帝国围攻维也纳为什么失败？
大象的孕期有多长？
怎么校准酸度计电极？
聚苯乙烯可以用什么溶剂溶解？
拉格朗日点是什么？
抵押债券的收益率曲线
蒸汽机是谁改良的？
"""
_JAPANESE = """
ヒッグス粒子のスピンはいくつ？
シチリアン・ディフェンスの主な変化は？
キャピタルゲインの税率は何パーセント？
ウェストファリア条約に署名したのは誰？
中性子星のシュワルツシルト半径の求め方は？
ルートリフレクタの設定方法は？
マリアナ海溝の深さは？
リーマン予想とは何か？
ノルウェークローネの為替レート
フィンランド語の分格は何を表す？
シェンゲンビザの申請方法は？
人身保護令状の意味は？
ストロンチウム九十の半減期は？
サターンV型ロケットの積載量
アイスホッケーのオフサイドの規則は？
オスマン帝国のウィーン包囲が失敗した理由は？
象の妊娠期間はどれくらい？
ポリスチレンを溶かす溶媒は何？
ラグランジュ点とは？
国債の利回り曲線はどうなっている？
蒸気機関を改良したのは誰？
二重らせんをほどく酵素は？
ハーバー法でアンモニアを作る条件は？
太陽系で最も大きい衛星は？
潜水艦の推進方式について教えて
株主総会の定足数は？
ディーゼルトラクターのオイル粘度は？
砂漠化の主な原因は何？
ベイズの定理の証明
火山灰の化学組成は？
"""
_KOREAN = """
힉스 보손의 스핀은 얼마야?
시칠리안 디펜스의 주요 변화는?
양도소득세 세율은 몇 퍼센트야?
베스트팔렌 조약에 서명한 나라는?
중성자별의 슈바르츠실트 반지름은 어떻게 구해?
라우트 리플렉터 설정 방법은?
마리아나 해구의 깊이는?
리만 가설은 무엇에 관한 거야?
노르웨이 크로네 환율
핀란드어의 분격은 무엇을 나타내?
솅겐 비자는 어떻게 신청해?
인신보호영장의 뜻은?
스트론튬 구십의 반감기는?
새턴 파이브 로켓의 탑재량
아이스하키의 오프사이드 규칙은?
오스만 제국의 빈 포위가 실패한 이유는?
코끼리의 임신 기간은 얼마나 돼?
폴리스티렌을 녹이는 용매는 뭐야?
라그랑주 점이란?
국채 수익률 곡선은 어때?
증기 기관을 개량한 발명가는?
이중 나선을 푸는 효소는?
하버법으로 암모니아를 만드는 조건은?
태양계에서 가장 큰 위성은?
잠수함의 추진 방식을 알려 줘
주주총회 의결 정족수는?
디젤 트랙터의 윤활유 점도는?
사막화의 주된 원인은 뭐야?
베이즈 정리의 증명
화산재의 화학 조성은?
"""

_BY_SET = {"locomo": _ENGLISH, "mixed": _ENGLISH, "zh": _CHINESE, "ja": _JAPANESE, "ko": _KOREAN}


def off_topic_questions(set_name: str) -> list[str]:
    """The questions for a set, in its language."""
    return _BY_SET[set_name].strip().splitlines()
